"""Refuses includes against the order of the rooms of csrc/, and circles of includes within a room.

The order is that of the `room(...)` lines in CMakeLists.txt: a room may include what stands before it. A unit is a
header with its source file; a table (.def) is one of its own. What a room needs of those above it is declared in its own `upward.h`.
"""

import pathlib
import re
import sys
from collections import defaultdict

ROOT = pathlib.Path(__file__).parent.parent
SOURCES = ROOT / "csrc"


def rooms() -> list[str]:
    return re.findall(r"^room\((\w+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)


def includes() -> dict[pathlib.Path, list[pathlib.Path]]:
    """By source file, relative to csrc/: the headers of ours that it includes."""
    found = {}
    for path in sorted([*SOURCES.rglob("*.cpp"), *SOURCES.rglob("*.h")]):
        names = re.findall(r'^#include "([^"]+)"', path.read_text(), re.MULTILINE)
        found[path.relative_to(SOURCES)] = [pathlib.Path(name) for name in names]
    return found


def unit(path: pathlib.Path) -> str:
    return str(path if path.suffix == ".def" else path.with_suffix(""))


def circle(arrows: dict[str, set[str]]) -> list[str]:
    """The units of one circle, in its order; empty if there is none."""
    done: set[str] = set()
    way: list[str] = []

    def visit(name: str) -> list[str]:
        if name in way:
            return way[way.index(name) :]
        if name in done:
            return []
        way.append(name)
        for next_name in sorted(arrows[name]):
            if found := visit(next_name):
                return found
        way.pop()
        done.add(name)
        return []

    for name in sorted(arrows):
        if found := visit(name):
            return found
    return []


def main() -> int:
    order = rooms()
    refused = []
    arrows: dict[str, set[str]] = defaultdict(set)
    for path, headers in includes().items():
        room = path.parts[0]
        for header in headers:
            if room in order and header.parts[0] in order and order.index(header.parts[0]) > order.index(room):
                refused.append(f"csrc/{path} includes {header}: {header.parts[0]}/ stands above {room}/")
            if unit(header) != unit(path):
                arrows[unit(path)].add(unit(header))
    if found := circle(arrows):
        refused.append("a circle of includes: " + " -> ".join([*found, found[0]]))
    for line in refused:
        print(line, file=sys.stderr)
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
