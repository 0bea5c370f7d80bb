"""Refuses private functions and layouts of CPython outside of csrc/python/: they have names of our own in python/unstable.h.

Types (`_PyWeakref_RefType`, `_PyInterpreterFrame`) may be named, not looked into.
"""

import pathlib
import re
import sys

SOURCES = pathlib.Path(__file__).parent.parent / "csrc"

FORBIDDEN = {
    r"\b_Py[A-Za-z]\w*\(": "a private function",
    r"\btp_dict\b": "the dict of a class: namespace_of(type)",
    r"\bPy_REFCNT\(": "a reference count: is_shared, is_dying, reference_count",
    r"->ob_item\b": "the layout of a tuple or list",
    r"\bPy_SIZE\(": "the layout of an object",
    r"\bma_(?:keys|values|version_tag)\b|\bdk_\w+\b": "the layout of a dict",
    r"#include <internal/|\bPy_BUILD_CORE\b": "CPython's internal headers",
}


def main() -> int:
    refused = []
    for source in sorted([*SOURCES.rglob("*.cpp"), *SOURCES.rglob("*.h")]):
        path = source.relative_to(SOURCES)
        if path.parts[0] == "python":
            continue
        text = re.sub(r"//[^\n]*", "", source.read_text())
        for pattern, what in FORBIDDEN.items():
            for match in re.finditer(pattern, text):
                refused.append(f"csrc/{path}:{text.count(chr(10), 0, match.start()) + 1}: {match[0]} is {what}")
    for line in refused:
        print(line, file=sys.stderr)
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
