"""Writes the lists of a folder that scripts/wheels made: index.html for each torch, and one that names them.

    python scripts/wheel_index.py FOLDER

A list is what `pip install --find-links` takes from a server of files (PEP 503's anchors: a checksum for each file, and the Pythons
that it is for, so that pip refuses another before it downloads anything).
"""

import hashlib
import html
import pathlib
import sys
import tomllib
import urllib.parse
from collections.abc import Iterable

ROOT = pathlib.Path(__file__).parents[1]


def page(title: str, rows: Iterable[str]) -> str:
    return "\n".join(["<!DOCTYPE html>", f"<title>{html.escape(title)}</title>", *rows, ""])


def row(path: pathlib.Path, pythons: str) -> str:
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    address = f"{urllib.parse.quote(path.name)}#sha256={digest}"
    return f'<a href="{address}" data-requires-python="{html.escape(pythons)}">{html.escape(path.name)}</a><br>'


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: python scripts/wheel_index.py FOLDER")
    root = pathlib.Path(sys.argv[1])
    pythons = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    folders = sorted(root.glob("torch*"))
    for folder in folders:
        packages = sorted([*folder.glob("*.whl"), *folder.glob("*.tar.gz")])
        (folder / "index.html").write_text(page(f"minidynamo for {folder.name}", (row(path, pythons) for path in packages)))
    (root / "index.html").write_text(
        page("minidynamo", (f'<a href="{folder.name}/index.html">{folder.name}</a><br>' for folder in folders))
    )


if __name__ == "__main__":
    main()
