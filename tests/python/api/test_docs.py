"""The Python code blocks of README and docs run, each in a process of its own; their links and the files that they name exist."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[3]
PAGES = [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")), *sorted((ROOT / "docs").rglob("*.md"))]
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
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)\s]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


# CPython's, C's and torch's.
OTHERS_FILES = {"opcode.h", "stdatomic.h", "torch/csrc/autograd/python_variable.h", "torch/extension.h", "python_variable.h"}
IN_DOCS = re.compile(r"`((?:[\w-]+/)+[\w-]+\.[a-z]+)`")
IN_COMMENTS = re.compile(r"(?<![\w/.])((?:[a-z_]+/)*[a-z_0-9]+\.(?:h|cpp|def|md|py))\b")


def named_paths() -> list[tuple[pathlib.Path, str]]:
    """Files that pages of docs and comments of csrc/ name, each with who names it."""
    named = [(page, name) for page in PAGES for name in IN_DOCS.findall(page.read_text()) if "NAME" not in name]
    for source in sorted((ROOT / "csrc").rglob("*.*")):
        comments = re.findall(r"//.*", source.read_text())
        named += [(source, name) for comment in comments for name in IN_COMMENTS.findall(comment)]
    return named


def test_files_that_are_named_exist() -> None:
    def exists(page: pathlib.Path, name: str) -> bool:
        places = [ROOT, ROOT / "csrc", ROOT / "minidynamo", page.parent]
        return name in OTHERS_FILES or any((place / name).exists() for place in places)

    assert len(named_paths()) > 100
    assert [f"{page.relative_to(ROOT)} names {name}" for page, name in named_paths() if not exists(page, name)] == []
