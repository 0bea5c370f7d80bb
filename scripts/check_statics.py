"""Refuses function-local statics that are filled by code that may let go of the GIL.

C++ fills such a static under a lock. A thread that lets go of the GIL in the middle (an import, a finalizer) and another
one that comes to the same static then wait for each other for good. What is looked up once belongs into `Imported`,
`CachedObject` or `Cached<T>` (csrc/python/cached.h), which are constant-initialized.

Accepted without further ado: `constexpr`, `constinit`, initializers that are constants, names ("..."_name), and
`new T` of a structure that begins empty. Everything else needs a row in KNOWN that says why it runs no Python code.
"""

import pathlib
import re
import sys

SOURCES = pathlib.Path(__file__).parent.parent / "csrc"

# (file, what the declaration contains): why filling it does not let go of the GIL.
KNOWN = {
    ("library/rules/rules.cpp", "RuleLine> lines"): "a table of addresses and literals",
    ("bytecode/decode.cpp", "table = [] {"): "numbers of opcodes",
    ("cache/code_cache.cpp", "new (room) CacheRegistry"): "an empty structure",
    ("tensor/dispatch/operator_info.cpp", "new OperatorTable()"): "the dispatcher is told whom to call, under its own lock",
    ("tensor/dispatch/structured_kernels.cpp", "new Kernels()"): "addresses; kernels ask for it without the GIL too",
    ("tensor/dispatch/memo.cpp", "memo = [] {"): "an empty structure; kernels ask for it without the GIL too",
    ("tensor/dispatch/fallback.cpp", "torch::Library* library"): "a kernel of C++ is registered with the dispatcher, under its own lock",
    ("tensor/dispatch/composite_overrides.cpp", "installed = [] {"): "kernels of C++ are registered with the dispatcher",
    ("python/native_function.h", "PyMethodDef definition"): "addresses",
    ("python/ref.h", "interned(text.characters)"): "a name",
    ("tensor/process/float32_precision.h", "found = [] {"): "addresses in a table of torch's",
}

CONSTANT = r"""(?:nullptr|true|false|-?[\d.]+|Py_None|"[^"]*"|\w+::\w+|&\w+)"""
ACCEPTED = [
    re.compile(rf"^{CONSTANT}$"),
    re.compile(r"^new \w+(::\w+)*(<.*>)?$", re.DOTALL),  # empty
    re.compile(r'^\{\s*("[^"]*"_name\s*,?\s*)+\}$'),
]
CALLS = re.compile(r"\w\s*\(|\[[&=\w\s]*\]\s*[({]|\bnew\b")


def declarations(text: str) -> list[tuple[int, str]]:
    """The function-local statics of a file: line and text of each, up to the end of its initializer."""
    found = []
    for match in re.finditer(r"^[ \t]+static\s+(?!_assert|cast)", text, re.MULTILINE):
        depth, at = 0, match.end()
        while at < len(text) and (depth or text[at] != ";"):
            depth += {"(": 1, "{": 1, "[": 1, ")": -1, "}": -1, "]": -1}.get(text[at], 0)
            at += 1
            if depth == 0 and text[at - 1] == "}" and text[at : at + 1] not in (";", ",", "("):
                break  # the body of a static member function
        found.append((text.count("\n", 0, match.start()) + 1, text[match.start() : at].strip()))
    return found


def is_accepted(path: str, declaration: str) -> bool:
    if re.match(r"static\s+(inline\s+)?(constexpr|constinit)\b", declaration):
        return True
    head, equals, value = declaration.partition("=")
    if not equals or "(" in head or "operator" in head:
        # A static member function, or a variable with a braced or no initializer.
        braced = re.search(r"\w(\{.*\})$", declaration, re.DOTALL)
        if "(" in head.split("{")[0]:
            return True
        return braced is None or not CALLS.search(braced.group(1))
    value = value.strip()
    if any(form.match(value) for form in ACCEPTED):
        return True
    if value.startswith("{") and not CALLS.search(value):
        return True
    return any(path == file and part in declaration for file, part in KNOWN)


def main() -> int:
    refused = []
    used = set()
    for source in sorted([*SOURCES.rglob("*.cpp"), *SOURCES.rglob("*.h")]):
        path = source.relative_to(SOURCES).as_posix()
        text = re.sub(r"//[^\n]*", "", source.read_text())
        for line, declaration in declarations(text):
            used |= {row for row in KNOWN if row[0] == path and row[1] in declaration}
            if not is_accepted(path, declaration):
                refused.append(f"csrc/{path}:{line}: {declaration.splitlines()[0]}")
    for line in refused:
        print(f"{line}\n    a static that is filled by a call: see scripts/check_statics.py", file=sys.stderr)
    for file, part in sorted(set(KNOWN) - used):
        print(f"scripts/check_statics.py: {file} has no static with {part!r} any more", file=sys.stderr)
    return 1 if refused or set(KNOWN) - used else 0


if __name__ == "__main__":
    sys.exit(main())
