"""Adapts the pages of docs/ for mkdocs: addresses of the repository, and the form of links to other sites.

The repository's address is in pyproject.toml alone. A page may link to a file of the repository outside docs/ by its relative path,
as GitHub shows it; on the site such a link leads to the repository. A warning fails the build, which is strict. No address is
fetched: other sites may be down, and a build needs no network.
"""

import logging
import os
import pathlib
import posixpath
import re
import tomllib
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

ROOT = pathlib.Path(__file__).parents[1]
LINK = re.compile(r"(?<=\]\()([^)\s]+)(?=\))")
FENCE = re.compile(r"^ *(```|~~~)")
CODE_SPAN = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")

log = logging.getLogger("mkdocs.hooks.minidynamo")  # below "mkdocs": a warning counts in a strict build


def repository() -> str:
    """The address of the repository."""
    address: str = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]["Homepage"]
    return address


def on_config(config: Any) -> Any:
    config.repo_url = repository()
    config.repo_name = "minidynamo"
    return config


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    name = page.file.src_uri
    return "\n".join(_linked(line, name) if is_text else line for line, is_text in _lines(markdown))


def _lines(markdown: str) -> Iterator[tuple[str, bool]]:
    """The lines of a page, each with whether it is text, and not within a block of code."""
    fence = ""
    for line in markdown.split("\n"):
        mark = FENCE.match(line)
        yield line, not fence and mark is None
        if mark is not None:
            fence = "" if fence == mark[1] else fence or mark[1]


def _linked(line: str, page: str) -> str:
    """A line with its links as the site has them."""

    def is_code(match: re.Match[str]) -> bool:
        return any(span.start() < match.start() < span.end() for span in CODE_SPAN.finditer(match.string))

    def without_reference(match: re.Match[str]) -> str:
        return match[0] if is_code(match) else "]\\"

    def absolute(match: re.Match[str]) -> str:
        target = match[0]
        if is_code(match):
            return target
        if ":" in target.partition("#")[0]:
            if problem := problem_of(target):
                log.warning(f"{page} links to {target}, which {problem}")
            return target
        path, mark, anchor = target.partition("#")
        within = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), path)) if path else "docs"
        if within == "docs" or within.startswith("docs/"):
            return target  # mkdocs checks these
        if within.startswith("..") or not os.path.exists(ROOT / within):
            log.warning(f"{page} links to {target}, and the repository has no {within}")
        kind = "tree" if (ROOT / within).is_dir() else "blob"
        return f"{repository()}/{kind}/main/{within}{mark}{anchor}"

    # Square brackets in a row are text (`L['x'][0]`) as on GitHub: the pages have no links of the form [text][name].
    return re.sub(r"\](?=\[)", without_reference, LINK.sub(absolute, line))


def problem_of(address: str) -> str:
    """The problem with the form of an address of another site; "" if there is none."""
    try:
        parts = urlsplit(address)
        parts.port  # noqa: B018  # a number, or an error
    except ValueError as error:
        return f"is no address: {error}"
    if parts.scheme != "https":
        return "does not begin with https://"
    if not re.fullmatch(r"[a-z0-9-]+(\.[a-z0-9-]+)*\.[a-z]{2,}", parts.hostname or ""):
        return "names no public host"
    if re.search(r"[<>\"{}|\\^`]|\.$", address):
        return "has a character that an address cannot have there"
    return ""
