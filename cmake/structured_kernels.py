"""Writes the table of torch's structured meta kernels, from the headers of the torch that is built for.

A structured operator has one C++ function that says what its result looks like, and its CPU and CUDA kernels begin with a call of it.
torch offers these functions as `at::meta::*`, but the dispatcher's Meta key answers by Python code for many of them. The table (of
`STRUCTURED_KERNEL(operator, type, function)` lines) is what tensor/dispatch/structured_kernels.cpp calls instead.

    python cmake/structured_kernels.py TORCH_INCLUDE_FOLDER OUTPUT
"""

import pathlib
import re
import sys

STRUCT = re.compile(
    r"struct TORCH_API \w+ \{\s*using schema = (?P<result>[^;]*?) \((?P<types>[^;]*)\);.*?"
    r"schema_str = \"(?P<name>\w+)(?:\.(?P<overload>\w+))?\(",
    re.DOTALL,
)
FUNCTION = re.compile(r"TORCH_API (?P<result>.*?) (?P<name>\w+)\((?P<parameters>.*)\);")
# Kernels take numbers where the dispatcher's schema has symbols.
NUMBERS = (
    ("c10::SymIntArrayRef", "at::IntArrayRef"),
    ("at::OptionalSymIntArrayRef", "at::OptionalIntArrayRef"),
    ("c10::SymInt", "int64_t"),
)


def split(text: str) -> list[str]:
    """The parts of a C++ parameter list."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "<(") - (character in ">)")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def type_of(parameter: str) -> str:
    """A parameter without its name and default value."""
    parameter = parameter.split("=")[0].strip()
    return re.sub(r"\s*\b\w+$", "", parameter).strip()


def with_numbers(type_name: str) -> str:
    for symbols, numbers in NUMBERS:
        type_name = type_name.replace(symbols, numbers)
    return type_name


def rows(include: pathlib.Path) -> list[str]:
    """A line for each structured operator that makes new tensors or works in place. (`out=` may be given other sizes.)"""
    found = {}
    for header in sorted((include / "ATen" / "ops").glob("*_meta_dispatch.h")):
        operators = header.with_name(header.name.replace("_meta_dispatch.h", "_ops.h")).read_text()
        functions = {
            (match["name"], tuple(type_of(p) for p in split(match["parameters"]))): match["result"]
            for match in FUNCTION.finditer(header.read_text())
        }
        for operator in STRUCT.finditer(operators):
            types = tuple(with_numbers(t) for t in split(operator["types"]))
            result = functions.get((operator["name"], types))
            if result is None or ("&" in result and types[0] != "at::Tensor &"):
                continue
            overload = operator["overload"] or ""
            name = f"aten::{operator['name']}" + (f".{overload}" if overload else "")
            found[name] = f'STRUCTURED_KERNEL("{name}", ({result}({", ".join(types)})), at::meta::{operator["name"]})'
    # The header of one that works in place may declare what no library has, unless the one that makes a new tensor is structured.
    return [found[name] for name in sorted(found) if (new := re.sub(r"_(\.|$)", r"\1", name)) == name or new in found]


def main() -> None:
    include, output = map(pathlib.Path, sys.argv[1:])
    text = "\n".join(rows(include)) + "\n"
    if not output.exists() or output.read_text() != text:  # else it would be compiled again
        output.write_text(text)


if __name__ == "__main__":
    main()
