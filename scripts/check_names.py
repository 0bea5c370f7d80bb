"""Refuses two types of one name: the linker takes one function of a template of theirs for that of the other.

A type in an anonymous namespace, or in a namespace or class of its own, is not looked at.
"""

import collections
import pathlib
import re
import sys

CSRC = pathlib.Path(__file__).parents[1] / "csrc"
TYPE = re.compile(
    r"^(?:template <[^>]*>\s+)?(?:struct|class|union|enum(?: class| struct)?) (?:\[\[\w+\]\] |alignas\(\w+\) )?"
    r"(\w+)(?: final)?(?: :[^;{]*)?\s*\{"
)


def types(text: str) -> set[str]:
    """The types of namespace minidynamo. The code is formatted: the members of the namespace begin at the first column."""
    found, inside = set(), []
    for line in text.splitlines():
        if opened := re.match(r"namespace ?([\w:]*) ?\{", line):
            inside.append(opened[1])
        elif line.startswith("}  // namespace") and inside:
            inside.pop()
        elif inside == ["minidynamo"] and (match := TYPE.match(line)):
            found.add(match[1])
    return found


def main() -> int:
    places = collections.defaultdict(list)
    for file in sorted([*CSRC.rglob("*.h"), *CSRC.rglob("*.cpp")]):
        for name in types(file.read_text()):
            places[name].append(str(file.relative_to(CSRC.parent)))
    twice = {name: files for name, files in places.items() if len(files) > 1}
    for name, files in sorted(twice.items()):
        print(f"{name} is the name of two types: {', '.join(files)}")
    return 1 if twice else 0


if __name__ == "__main__":
    sys.exit(main())
