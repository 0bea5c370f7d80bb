#!/usr/bin/env python
"""Writes the tables of the running CPython's opcodes.

    python scripts/make_opcodes.py

csrc/bytecode/opcodes_3xx.def has the number of each instruction, its inline cache units and how its argument is read, and the
neutral instruction that it is decoded to; csrc/python/specialized_3xx.def the specialized forms by which the interpreter
replaces instructions while a function runs. Both come from CPython's own `opcode` and `dis` modules. An instruction that
csrc/bytecode/ops.def has no row for is an error: it wants one there, or a line below.
"""

import dis
import opcode
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).parents[1]
VERSION = f"{sys.version_info.major}{sys.version_info.minor}"
OPCODES = ROOT / "csrc" / "bytecode" / f"opcodes_{VERSION}.def"
SPECIALIZED = ROOT / "csrc" / "python" / f"specialized_{VERSION}.def"

IGNORED = {"CACHE": "", "PRECALL": ", always before CALL"}
DIRECTIONS = {"_FORWARD": "Forward", "_BACKWARD_NO_INTERRUPT": "NoInterrupt", "_BACKWARD": "Backward"}

OPCODES_HEAD = f"""\
// CPython {VERSION[0]}.{VERSION[1:]}'s instructions, made by scripts/make_opcodes.py:
// MINIDYNAMO_OPCODE(number, inline cache units, form, neutral op).
// Forms: Plain; Name (an index into co_names, shifted, with "push a null first" in its lowest bit); Forward, Backward,
// NoInterrupt (jumps, by direction); Prefix (EXTENDED_ARG); Ignored (no instruction of the neutral set).
"""
SPECIALIZED_HEAD = f"""\
// CPython {VERSION[0]}.{VERSION[1:]}'s specialized forms of instructions, made by scripts/make_opcodes.py:
// MINIDYNAMO_SPECIALIZED(form, the instruction that it stands for), both macros of <opcode.h>.
"""


def neutral(name: str) -> tuple[str, str]:
    """The form of an instruction, and the row of ops.def for it."""
    if name == "EXTENDED_ARG":
        return "Prefix", "NOP"
    if name in IGNORED:
        return "Ignored", "NOP"
    for direction, form in DIRECTIONS.items():
        if "JUMP" in name and direction in name:
            return form, name.replace(direction, "")
    if name == "LOAD_GLOBAL":
        return "Name", name
    return "Forward" if opcode.opmap[name] in opcode.hasjrel else "Plain", name


def opcodes() -> str:
    """The text of opcodes_3xx.def."""
    known = set(re.findall(r"^MINIDYNAMO_OP\((\w+),", (ROOT / "csrc/bytecode/ops.def").read_text(), re.MULTILINE))
    lines = []
    for name, number in sorted(opcode.opmap.items(), key=lambda item: item[1]):
        form, op = neutral(name)
        if op not in known:
            raise SystemExit(f"{name}: ops.def has no row {op}")
        comment = "" if form not in ("Ignored", "Prefix") else f"  // {name}{IGNORED.get(name, '')}"
        lines.append(f"MINIDYNAMO_OPCODE({number}, {opcode._inline_cache_entries[number]}, {form}, {op}){comment}\n")
    return OPCODES_HEAD + "".join(lines)


def specialized() -> str:
    """The text of specialized_3xx.def."""
    forms = sorted(dis.deoptmap.items())
    return SPECIALIZED_HEAD + "".join(f"MINIDYNAMO_SPECIALIZED({name}, {base})\n" for name, base in forms)


if __name__ == "__main__":
    OPCODES.write_text(opcodes())
    SPECIALIZED.write_text(specialized())
