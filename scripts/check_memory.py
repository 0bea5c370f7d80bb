"""Refuses code that does not know what to do when memory ends (csrc/python/process/out_of_memory.h).

* An object that only a lack of memory keeps from being made is taken over with `Ref::made`, which throws, not with `Ref::steal`.
* A result of `Ref::steal` is looked at before it is used.
* Errors are dropped with `clear_error`, which takes a lack of memory down; items are looked for with `named_item`.
* What CPython calls is an `entry<...>`.
"""

import pathlib
import re
import sys

SOURCES = pathlib.Path(__file__).parent.parent / "csrc"

ONLY_MEMORY = (
    r"PyTuple_New|PyTuple_Pack|PyList_New|PyDict_New|PySet_New\(nullptr\)|PyFrozenSet_New\(nullptr\)|PyCell_New|PySlice_New|PyMethod_New|"
    r"PyCFunction_New|PyLong_From\w+|PyFloat_FromDouble|PyUnicode_InternFromString|PyUnicode_FromString\b|PyBytes_FromString|PyDict_Copy"
)
# Files that handle the failure in another way than by throwing, since CPython's or their own callers take no exception.
LOOKED_AT = {
    "python/objects/iterators.cpp",
    "python/objects/numpy_scalar.cpp",
    "python/objects/subclasses.cpp",
    "python/named_item.h",
    "hook/run/run_entry.cpp",
}
FORBIDDEN = {
    r"\bPyErr_Clear\(": "clear_error() says if memory was refused",
    r"\bPyDict_GetItemString\(": "named_item() says if memory was refused",
    r"\bPyThreadState_New\(": "it crashes without memory; _PyThreadState_Prealloc does not",
    r"\{\"\w+\", (?!entry<|nullptr)\w+, METH_": "what CPython calls is an entry<...>",
    r"\.(?:tp_new|tp_call|tp_iternext|tp_getattro|tp_repr|tp_descr_get) = "
    r"(?!entry<|PyVectorcall_Call|PyType_GenericNew)": "what CPython calls is an entry<...>",
}
OWN = {  # may clear errors themselves
    "python/process/out_of_memory.cpp",
    "python/process/out_of_memory.h",
    "hook/capture/capture.cpp",
    "hook/capture/trace_frame.cpp",
}


def used_unseen(text: str) -> list[tuple[int, str]]:
    """Variables that get the result of Ref::steal(call) and are used next without a look: line and name of each."""
    found = []
    for match in re.finditer(r"\bRef (\w+)\s*=\s*Ref::steal\((?!interned|std::exchange)(\w+)\(", text):
        end = text.index(";", match.end())
        before = text[max(0, match.start() - 8) : match.start()]
        if before.rstrip().endswith(("if (", "(")) or match.group(2) == "PyErr_GetHandledException":
            continue
        after = re.search(rf"\b{match.group(1)}\b(\.get\(\)|\.type\(\))?", text[end : end + 700])
        if after and after.group(1):
            found.append((text.count("\n", 0, match.start()) + 1, match.group(1)))
    return found


def main() -> int:
    refused = []
    for source in sorted([*SOURCES.rglob("*.cpp"), *SOURCES.rglob("*.h")]):
        path = source.relative_to(SOURCES).as_posix()
        text = re.sub(r"//[^\n]*", "", source.read_text())
        rules = dict(FORBIDDEN) if path not in OWN else {}
        if path not in LOOKED_AT:
            rules[rf"Ref::steal\((?:{ONLY_MEMORY})"] = "Ref::made throws where memory ends"
        for pattern, why in rules.items():
            refused += [(path, text.count("\n", 0, match.start()) + 1, why) for match in re.finditer(pattern, text)]
        refused += [(path, line, f"{name} may be null") for line, name in used_unseen(text)]
    for path, line, why in refused:
        print(f"csrc/{path}:{line}: {why}", file=sys.stderr)
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
