"""The Python code blocks of README and docs run, each in a process of its own."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks() -> list[object]:
    return [
        pytest.param(match.group(1), id=f"{page.name}:{page.read_text()[: match.start()].count(chr(10)) + 2}")
        for page in PAGES
        for match in BLOCK.finditer(page.read_text())
    ]


@pytest.mark.parametrize("code", blocks())
def test_code_block_runs(code: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "block.py").write_text(code)
    done = subprocess.run([sys.executable, "block.py"], cwd=tmp_path, capture_output=True, text=True, env=os.environ, timeout=300)
    assert done.returncode == 0, done.stderr


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
