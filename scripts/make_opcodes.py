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
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).parents[1]
VERSION = f"{sys.version_info.major}{sys.version_info.minor}"
OPCODES = ROOT / "csrc" / "bytecode" / f"opcodes_{VERSION}.def"
SPECIALIZED = ROOT / "csrc" / "python" / "version" / f"specialized_{VERSION}.def"

IGNORED = {
    "CACHE": "",
    "PRECALL": ", always before CALL",
    "END_FOR": ", where FOR_ITER leads" + (", with what pops the iterator behind it" if sys.version_info >= (3, 13) else ""),
    "END_SEND": ", where SEND leads",
    "INTERPRETER_EXIT": ", never in a code object",
    "EXIT_INIT_CHECK": ", never in a code object",
    "ENTER_EXECUTOR": ", never in what the decoder reads",
    "RESERVED": "",
    "NOT_TAKEN": ", behind a conditional jump, for tools of sys.monitoring",
}
# Read as another instruction.
SYNONYMS = {"LOAD_FAST_CHECK": "LOAD_FAST", "POP_ITER": "POP_TOP"}
# The opcodes that the assembler writes by number; 0 where this CPython has none.
NUMBERS = (
    *("EXTENDED_ARG", "PRECALL", "END_FOR", "END_SEND", "LOAD_FAST_CHECK", "CALL_KW", "TO_BOOL", "SET_FUNCTION_ATTRIBUTE"),
    *("FORMAT_SIMPLE", "FORMAT_WITH_SPEC", "POP_ITER"),
)
# Instructions whose argument has more in it, or that stand for two of the neutral set.
FORMS = {
    "LOAD_GLOBAL": "Name",
    "LOAD_SUPER_ATTR": "Super",
    "RETURN_CONST": "ReturnConst",
    "BINARY_SLICE": "Slice",
    "STORE_SLICE": "Slice",
}
FORMS |= {"LOAD_ATTR": "Attribute", "COMPARE_OP": "Comparison"} if sys.version_info >= (3, 12) else {}
ROWS = {"RETURN_CONST": "RETURN_VALUE", "BINARY_SLICE": "BINARY_SUBSCR", "STORE_SLICE": "STORE_SUBSCR"}
if sys.version_info >= (3, 13):
    FORMS |= {
        "LOAD_FAST": "Local",
        "LOAD_FAST_LOAD_FAST": "LoadPair",
        "STORE_FAST_LOAD_FAST": "StorePair",
        "STORE_FAST_STORE_FAST": "StorePair",
        "COMPARE_OP": "ComparisonToBool",
        "CALL_KW": "Keywords",
        "SET_FUNCTION_ATTRIBUTE": "FunctionAttribute",
        "FORMAT_SIMPLE": "Format",
        "FORMAT_WITH_SPEC": "Format",
        "RESUME": "Resume",
        "TO_BOOL": "Truth",
    }
    ROWS |= {
        "LOAD_FAST_LOAD_FAST": "LOAD_FAST",
        "STORE_FAST_LOAD_FAST": "LOAD_FAST",
        "STORE_FAST_STORE_FAST": "STORE_FAST",
        "CALL_KW": "CALL",
        "SET_FUNCTION_ATTRIBUTE": "MAKE_FUNCTION",
        "FORMAT_SIMPLE": "FORMAT_VALUE",
        "FORMAT_WITH_SPEC": "FORMAT_VALUE",
        "PUSH_NULL": "PUSH_NULL_BELOW",
        "TO_BOOL": "UNARY_NOT",
    }
if sys.version_info >= (3, 14):
    FORMS |= {
        "LOAD_FAST_BORROW": "Borrow",
        "LOAD_FAST_BORROW_LOAD_FAST_BORROW": "LoadPair",
        "CALL_FUNCTION_EX": "Spread",
        "PUSH_NULL": "Null",
        "END_ASYNC_FOR": "Unread",
    }
    ROWS |= {"LOAD_FAST_BORROW": "LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW": "LOAD_FAST"}
# Intrinsics that are an instruction of their own in 3.11, with the same effect on the stack.
INTRINSICS = ("ASYNC_GEN_WRAP", "UNARY_POSITIVE", "LIST_TO_TUPLE", "PREP_RERAISE_STAR")
DIRECTIONS = {"_FORWARD": "Forward", "_BACKWARD_NO_INTERRUPT": "NoInterrupt", "_BACKWARD": "Backward"}

OPCODES_HEAD = f"""\
// CPython {VERSION[0]}.{VERSION[1:]}'s instructions, made by scripts/make_opcodes.py:
// MINIDYNAMO_OPCODE(number, inline cache units, form, neutral op).
// Forms: Plain; Name (an index into co_names, shifted, with "push a null first" in its lowest bit); Forward, Backward,
// NoInterrupt (jumps, by direction); Prefix (EXTENDED_ARG); Ignored (no instruction of the neutral set).
// MINIDYNAMO_NUMBER(name, number): what the assembler writes by number, 0 where this CPython has none.
"""
if sys.version_info >= (3, 12):
    OPCODES_HEAD += """\
// Attribute (as Name, the bit is "for a call": LOAD_METHOD); Super (shifted by two: for a call, written with
// arguments); Comparison (the operator above four bits that only specialization looks at); ReturnConst (LOAD_CONST and
// RETURN_VALUE); Slice (BUILD_SLICE and the named one); Synonym (of the named one, which the assembler writes).
// MINIDYNAMO_INTRINSIC(number, argument, neutral op): arguments that have an op of their own.
"""
if sys.version_info >= (3, 13):
    OPCODES_HEAD += """\
// Local (LOAD_CLOSURE where the local is a cell); LoadPair and StorePair (a LOAD_FAST or a STORE_FAST of the local in the
// argument's upper four bits, and the named one of that in the lower four); ComparisonToBool (as Comparison, with one bit
// more: makes a bool); Keywords (KW_NAMES in the place of the LOAD_CONST before it, and CALL); FunctionAttribute (a bit of
// the argument of the MAKE_FUNCTION before it); Format (FORMAT_VALUE, without and with a format); Resume (with bits that
// only generators look at); Truth (none before what asks for a truth, which the neutral instructions do themselves, or else
// two of the named one).
"""
if sys.version_info >= (3, 14):
    OPCODES_HEAD += """\
// Borrow (as Local, which the assembler writes); Spread (of a call with * and **: the keywords lie on the stack, or a null);
// Null (the absent keywords of the Spread behind it, or else the named one); Unread (the argument is for tools of
// sys.monitoring).
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
    if name in SYNONYMS:
        return "Synonym", SYNONYMS[name]
    is_jump = opcode.opmap[name] in opcode.hasjrel and name not in FORMS
    return "Forward" if is_jump else FORMS.get(name, "Plain"), ROWS.get(name, name)


def opcodes() -> str:
    """The text of opcodes_3xx.def."""
    known = set(re.findall(r"^MINIDYNAMO_OP\((\w+),", (ROOT / "csrc/bytecode/ops.def").read_text(), re.MULTILINE))
    lines = []
    for name, number in sorted(opcode.opmap.items(), key=lambda item: item[1]):
        if name.startswith("INSTRUMENTED_") or number > 255:  # never in what the decoder reads; the compiler's own
            continue
        form, op = neutral(name)
        if op not in known:
            raise SystemExit(f"{name}: ops.def has no row {op}")
        comment = "" if form not in ("Ignored", "Prefix") else f"  // {name}{IGNORED.get(name, '')}"
        lines.append(f"MINIDYNAMO_OPCODE({number}, {units_behind(name)}, {form}, {op}){comment}\n")
    numbers = [f"MINIDYNAMO_NUMBER({name}, {opcode.opmap.get(name, 0)})\n" for name in NUMBERS]
    return OPCODES_HEAD + "".join(lines) + "".join(intrinsics()) + "".join(numbers)


def units_behind(name: str) -> int:
    """The inline cache units of an instruction, and what else belongs to it."""
    if sys.version_info < (3, 13):
        return opcode._inline_cache_entries[opcode.opmap[name]]
    return 1 if name == "END_FOR" else opcode._inline_cache_entries.get(name, 0)


def intrinsics() -> Iterator[str]:
    """The rows of arguments that stand for an instruction."""
    for call in ("CALL_INTRINSIC_1", "CALL_INTRINSIC_2"):
        for argument, name in enumerate(getattr(opcode, f"_intrinsic_{call[-1]}_descs", ())):
            op = name.removeprefix("INTRINSIC_")
            if op in INTRINSICS:
                yield f"MINIDYNAMO_INTRINSIC({opcode.opmap[call]}, {argument}, {op})\n"
    if sys.version_info >= (3, 14):
        subscript = [name for name, _ in opcode._nb_ops].index("NB_SUBSCR")
        yield f"MINIDYNAMO_INTRINSIC({opcode.opmap['BINARY_OP']}, {subscript}, BINARY_SUBSCR)\n"
        error = opcode._common_constants.index(AssertionError)
        yield f"MINIDYNAMO_INTRINSIC({opcode.opmap['LOAD_COMMON_CONSTANT']}, {error}, LOAD_ASSERTION_ERROR)\n"


def specialized() -> str:
    """The text of specialized_3xx.def."""
    forms = sorted(deoptimized().items())
    return SPECIALIZED_HEAD + "".join(f"MINIDYNAMO_SPECIALIZED({name}, {base})\n" for name, base in forms)


def deoptimized() -> dict[str, str]:
    """By specialized form the instruction that it stands for."""
    if sys.version_info < (3, 12):
        return dict(dis.deoptmap)
    return {form: base for base, forms in opcode._specializations.items() for form in forms}


if __name__ == "__main__":
    OPCODES.write_text(opcodes())
    SPECIALIZED.write_text(specialized())
