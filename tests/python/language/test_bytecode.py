"""The decoder and the assembler against CPython itself: code objects of the standard library, taken apart and put together.

The oracle is CPython's own compiler: the rebuilt bytes equal its bytes, and the rebuilt code behaves when it runs. Set
MINIDYNAMO_FULL=1 to include the standard library's `test` package.
"""

from __future__ import annotations

import asyncio
import dis
import importlib.util
import inspect
import itertools
import logging
import marshal
import os
import re
import sys
import sysconfig
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import minidynamo
from minidynamo import _C

LIBRARY = Path(sysconfig.get_paths()["stdlib"])
FULL = bool(os.environ.get("MINIDYNAMO_FULL"))


def library_files() -> list[Path]:
    skipped = {"site-packages", "lib2to3", "__pycache__"} | (set() if FULL else {"test", "tests", "idlelib"})
    return [p for p in sorted(LIBRARY.rglob("*.py")) if not skipped & set(p.relative_to(LIBRARY).parts)]


def module_code(path: Path) -> types.CodeType | None:
    cached = path.parent / "__pycache__" / f"{path.stem}.{sys.implementation.cache_tag}.pyc"
    if cached.exists():
        code: types.CodeType = marshal.loads(cached.read_bytes()[16:])
        return code
    try:
        return compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
    except (SyntaxError, ValueError):  # files that are wrong on purpose
        return None


def code_objects(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from code_objects(const)


def round_trip(code: types.CodeType) -> types.CodeType:
    """The rebuilt code object, and the same for every code object in its constants."""
    rebuilt = _C.bytecode_round_trip(code)
    consts = tuple(round_trip(c) if isinstance(c, types.CodeType) else c for c in rebuilt.co_consts)
    return rebuilt.replace(co_consts=consts) if any(isinstance(c, types.CodeType) for c in consts) else rebuilt


SAME = [
    "co_name",
    "co_qualname",
    "co_filename",
    "co_flags",
    "co_firstlineno",
    "co_argcount",
    "co_posonlyargcount",
    "co_kwonlyargcount",
    "co_nlocals",
    "co_varnames",
    "co_cellvars",
    "co_freevars",
    "co_names",
]


# From 3.12 on some instructions are written in another way than the compiler's: RETURN_CONST as two.
SAME_BYTES = sys.version_info < (3, 12)


# The instructions that the assembler writes for instructions of the compiler's. `same_meaning` is independent of the decoder: it uses dis.
PARTS = {
    "RETURN_CONST": ("LOAD_CONST", "RETURN_VALUE"),
    "BINARY_SLICE": ("BUILD_SLICE", "BINARY_SUBSCR"),
    "STORE_SLICE": ("BUILD_SLICE", "STORE_SUBSCR"),
    "LOAD_FAST_LOAD_FAST": ("LOAD_FAST", "LOAD_FAST"),
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW": ("LOAD_FAST", "LOAD_FAST"),
    "STORE_FAST_LOAD_FAST": ("STORE_FAST", "LOAD_FAST"),
    "STORE_FAST_STORE_FAST": ("STORE_FAST", "STORE_FAST"),
    "LOAD_FAST_BORROW": ("LOAD_FAST",),
    "LOAD_FAST_CHECK": ("LOAD_FAST",),
    "POP_ITER": ("POP_TOP",),
}
UNWRITTEN = {"CACHE", "EXTENDED_ARG", "NOP", "NOT_TAKEN", "END_SEND", "END_FOR"}  # landings have places of their own
SUBSCRIPT = ("BINARY_OP", "[]") if sys.version_info >= (3, 14) else ("BINARY_SUBSCR", "")


def parts_of(instruction: dis.Instruction, behind: str) -> list[tuple[str, str]]:
    """Names and arguments of what an instruction is written as; of a jump without its target.

    Args:
        behind: the name of the instruction that follows.
    """
    name, argument = instruction.opname, instruction.argrepr
    if name in UNWRITTEN:
        return []
    if name == "TO_BOOL":
        return [] if behind == "UNARY_NOT" or behind.startswith("POP_JUMP_IF_") else [("UNARY_NOT", "")] * 2
    if is_jump(instruction):
        return [(re.sub("_FORWARD|_BACKWARD|_NO_INTERRUPT", "", name), "")]
    if name == "LOAD_GLOBAL" and (instruction.arg or 0) & 1:
        parts = [("PUSH_NULL", ""), ("LOAD_GLOBAL", instruction.argval)]
        return parts[::-1] if sys.version_info >= (3, 13) else parts
    if name == "COMPARE_OP":
        return [(name, re.sub(r"^bool\((.*)\)$", r"\1", argument))]
    if name == "BUILD_SLICE":
        return [(name, str(instruction.arg))]
    arguments = [argument, ""]
    if name.endswith("_SLICE"):
        arguments = ["2", ""]
    elif name.startswith(("LOAD_FAST", "STORE_FAST")):
        arguments = list(instruction.argval) if isinstance(instruction.argval, tuple) else [instruction.argval]
    parts = list(zip(PARTS.get(name, (name,)), arguments, strict=False))
    return [SUBSCRIPT if part[0] == "BINARY_SUBSCR" else part for part in parts]


def is_jump(instruction: dis.Instruction) -> bool:
    return instruction.opcode in dis.hasjrel or instruction.opcode in dis.hasjabs


def same_meaning(code: types.CodeType) -> tuple[list[tuple[str, Any]], list[tuple[Any, ...]]]:
    """The instructions that a code object is written as, jumps with the index of their target, and the exception regions."""
    instructions = list(dis.get_instructions(code))
    written = [one for one in instructions if one.opname not in ("CACHE", "EXTENDED_ARG")]
    behind = {one.offset: after.opname for one, after in itertools.pairwise(written)}
    parts: list[tuple[str, Any]] = []
    index_at, jumps, before = {}, {}, ""
    for instruction in instructions:
        index_at[instruction.offset] = len(parts)
        if is_jump(instruction):
            jumps[len(parts)] = instruction.argval
        is_landing = sys.version_info >= (3, 13) and before == "END_FOR"  # its iterator is popped by an instruction of its own
        if not is_landing:
            parts += parts_of(instruction, behind.get(instruction.offset, ""))
        before = instruction.opname
    for index, target in jumps.items():
        parts[index] = (parts[index][0], index_at[target])
    index_at[len(code.co_code)] = len(parts)
    regions = dis._parse_exception_table(code)  # type: ignore[attr-defined]
    covered = [(index_at[one.start], index_at[one.end], index_at[one.target], one.depth, one.lasti) for one in regions]
    return parts, [one for one in covered if one[0] < one[1]]


def instructions_of(code: types.CodeType) -> list[str]:
    """The instructions and exception regions of a code object, without their offsets."""
    lines = [re.sub(r"^ *(\d+) +\d+ +", r"\1 ", line) for line in _C.bytecode_text(code).splitlines()]
    return [re.sub(" +", " ", line) for line in lines]  # a wide offset moves the columns


def assert_same_code(original: types.CodeType, rebuilt: types.CodeType) -> None:
    for name in SAME:
        assert getattr(rebuilt, name) == getattr(original, name), (name, original)
    assert len(rebuilt.co_consts) == len(original.co_consts)
    assert all(a is b for a, b in zip(rebuilt.co_consts, original.co_consts, strict=True))
    assert instructions_of(rebuilt) == instructions_of(original), original
    if not SAME_BYTES:
        assert same_meaning(rebuilt) == same_meaning(original), original
        # An instruction that is written as two may need one more slot.
        assert rebuilt.co_stacksize <= original.co_stacksize + 1
        return
    for name in ("co_code", "co_exceptiontable", "co_linetable"):
        assert getattr(rebuilt, name) == getattr(original, name), (name, original)
    # For `except*` blocks that nothing can enter, the compiler counts the stack that they would need.
    grouped = rebuilt.co_stacksize < original.co_stacksize and "CHECK_EG_MATCH" in _C.bytecode_text(original)
    assert rebuilt.co_stacksize == original.co_stacksize or grouped, original


@pytest.mark.parametrize("part", range(8))
def test_standard_library(part: int) -> None:
    checked = 0
    for path in library_files()[part::8]:
        module = module_code(path)
        for code in code_objects(module) if module else ():
            assert_same_code(code, _C.bytecode_round_trip(code))
            checked += 1
    assert checked > 500


def test_specialized_code_reads_back_as_compiled() -> None:
    def work(values: list[int], text: dict[str, int]) -> int:
        total = 0
        for value in values:
            total += value * 2 + len(values)
            text["k"] = total
            if isinstance(value, int) and total > 0:
                total = text["k"] - values[0]
        return total

    before = _C.bytecode_text(work.__code__)
    rebuilt = _C.bytecode_round_trip(work.__code__)
    for _ in range(200):
        work([1, 2, 3], {})
    adaptive = [i.opname for i in dis.get_instructions(work, adaptive=True)]
    assert set(adaptive) - set(dis.opmap), "the function should have been specialized"
    assert _C.bytecode_text(work.__code__) == before
    assert _C.bytecode_round_trip(work.__code__).co_code == rebuilt.co_code
    assert not SAME_BYTES or rebuilt.co_code == work.__code__.co_code


def test_jumps_of_every_width() -> None:
    for count in (10, 60, 63, 64, 65, 100, 127, 128, 130, 5000, 16500, 17000):
        for body in ("x = x + 1", "f(x)"):
            lines = "\n".join(f"        {body}" for _ in range(count))
            source = f"def g(x, f):\n    while x:\n        if x == 3: break\n{lines}\n        x = 0\n    return x\n"
            space: dict[str, Any] = {}
            exec(source, space)
            code = space["g"].__code__
            rebuilt = _C.bytecode_round_trip(code)
            assert_same_code(code, rebuilt)
            assert not SAME_BYTES or list(rebuilt.co_positions()) == list(code.co_positions())
            space["g"].__code__ = rebuilt
            assert space["g"](0, id) == 0 and space["g"](3, id) == 3 and space["g"](1, id) == 0


def test_many_arguments_names_and_consts() -> None:
    names = [f"a{i}" for i in range(700)]
    space: dict[str, Any] = {}
    exec(f"def g({', '.join(names)}):\n    return h({', '.join(names)}, k={names[-1]}) + {'+'.join(names)}", space)
    space["h"] = lambda *args, k: sum(args) + k
    code = space["g"].__code__
    space["g"].__code__ = rebuilt = _C.bytecode_round_trip(code)
    assert_same_code(code, rebuilt)
    assert space["g"](*range(700)) == 2 * sum(range(700)) + 699


def rebuilt_function(function: Callable[..., Any]) -> Callable[..., Any]:
    function.__code__ = round_trip(function.__code__)
    return function


def test_exceptions_and_their_lines() -> None:
    def fails(where: int) -> str:
        log = []
        try:
            with open(os.devnull):
                if where == 0:
                    raise KeyError(where)
                log.append("no error")
            try:
                1 / (where - 1)
            except ZeroDivisionError as error:
                raise ValueError("chained") from error
            finally:
                log.append("finally")
        except* KeyError as group:
            log.append(f"group {len(group.exceptions)}")
        return " ".join(log)

    def observed(where: int) -> tuple[Any, ...]:
        try:
            return ("returned", fails(where))
        except BaseException as error:
            lines = []
            cause: BaseException | None = error
            while cause is not None:
                tb = cause.__traceback__
                while tb is not None:
                    lines.append((tb.tb_frame.f_code.co_name, tb.tb_lineno, tb.tb_lasti if SAME_BYTES else None))
                    tb = tb.tb_next
                cause = cause.__cause__
            return (type(error), str(error), lines)

    expected = [observed(where) for where in range(3)]
    assert len({e[0] for e in expected}) > 1
    rebuilt_function(fails)
    assert [observed(where) for where in range(3)] == expected


def test_generators_and_coroutines() -> None:
    def inner(n: int) -> Any:
        try:
            for i in range(n):
                sent = yield i
                if sent:
                    yield ("got", sent)
        except KeyError:
            yield "caught"
        return "done"

    def outer(n: int) -> Any:
        result = yield from inner(n)
        yield result

    async def ticks(n: int) -> Any:
        for i in range(n):
            await asyncio.sleep(0)
            yield i

    async def collect(n: int) -> list[Any]:
        out = [i async for i in ticks(n) if i != 1]
        async for i in ticks(2):
            out.append(("again", i))
        return out

    for function in (inner, outer, ticks, collect):
        rebuilt_function(function)
    assert list(outer(2)) == [0, 1, "done"]
    generator = outer(3)
    assert [next(generator), generator.send("x"), next(generator), generator.throw(KeyError)] == [0, ("got", "x"), 1, "caught"]
    assert asyncio.run(collect(3)) == [0, 2, ("again", 0), ("again", 1)]
    assert inspect.isasyncgenfunction(ticks) and inspect.iscoroutinefunction(collect)


def test_yield_from_loop_keeps_its_jump() -> None:
    def outer(it: Any) -> Any:
        yield from it

    names = [i.opname for i in dis.get_instructions(_C.bytecode_round_trip(outer.__code__))]
    assert "JUMP_BACKWARD_NO_INTERRUPT" in names
    assert "JUMP_BACKWARD" not in names or "CLEANUP_THROW" in names  # the code that goes on from there


def test_match_and_closures() -> None:
    class Point:
        __match_args__ = ("x", "y")

        def __init__(self, x: int, y: int) -> None:
            self.x, self.y = x, y

    def classify(value: object) -> object:
        seen = 0

        def note() -> int:
            nonlocal seen
            seen += 1
            return seen

        match value:
            case Point(x=0, y=y):
                note()
                return "axis", y, note()
            case {"k": [first, *rest], **others}:
                return first, rest, others, note()
            case (int() | str()) as simple if simple:
                return f"{simple!r:>5}", note()
            case _:
                del seen
                return None

    values: list[object] = [Point(0, 5), {"k": [1, 2, 3], "z": 0}, "ab", 0, 7]
    expected = [classify(v) for v in values]
    rebuilt_function(classify)
    assert [classify(v) for v in values] == expected


@pytest.mark.parametrize(
    "name",
    ["textwrap", "json.decoder", "json.encoder", "csv", "fractions", "statistics", "dataclasses", "string", "difflib"],
)
def test_rebuilt_modules_behave(name: str) -> None:
    """A private copy of a module, all of whose code was rebuilt, returns the original's results."""
    original = __import__(name, fromlist=["_"])
    copy = types.ModuleType(name)
    copy.__dict__.update(__file__=original.__file__, __package__=original.__package__, __spec__=original.__spec__)
    code = module_code(Path(str(original.__file__)))
    assert code is not None
    saved = sys.modules[name]
    sys.modules[name] = copy
    try:
        exec(round_trip(code), copy.__dict__)
    finally:
        sys.modules[name] = saved
    probes: dict[str, Callable[[Any], object]] = {
        "textwrap": lambda m: (m.fill("the quick brown fox " * 9, 30), m.dedent("  a\n  b\n"), m.shorten("a b c" * 9, 10)),
        "json.decoder": lambda m: m.JSONDecoder().decode('{"a": [1, 2.5, null, "\\u00e9"], "b": {}}'),
        "json.encoder": lambda m: m.JSONEncoder(indent=2, sort_keys=True).encode({"b": [1, None], "a": {"x": 1.5}}),
        "csv": lambda m: m.Sniffer().sniff("a;b\n1;2\n3;4\n").delimiter,
        "fractions": lambda m: str(m.Fraction("3/7") ** 2 + m.Fraction(1, 3)),
        "statistics": lambda m: (m.mean([1, 2, 4]), m.stdev([1.5, 2.5, 4.0]), m.quantiles(range(10), n=4)),
        "dataclasses": lambda m: m.asdict(m.make_dataclass("C", ["x", ("y", int, m.field(default=3))])(1)),
        "string": lambda m: (m.Template("$a ${b}").substitute(a=1, b=2), m.Formatter().format("{0!r:>4}", "x")),
        "difflib": lambda m: list(m.unified_diff(["a", "b", "c"], ["a", "x", "c"])),
    }
    assert probes[name](copy) == probes[name](original)


def test_text() -> None:
    def f(x: Any, y: Any = None) -> Any:
        for _ in range(3):
            if x is not None:
                x = x.upper() + "!"
        return x

    text = _C.bytecode_text(f.__code__)
    body = [line.split() for line in text.splitlines() if not line.startswith("line")]
    numbers = [int(line[0]) for line in body]
    assert numbers == list(range(len(body)))
    by_name = {line[2]: line[3:] for line in body}
    assert by_name["LOAD_GLOBAL"] == ["range", "+", "null"]
    assert by_name["LOAD_METHOD"] == ["upper"]
    assert by_name["BINARY_OP"] == ["+"]
    target = int(by_name["FOR_ITER"][1])
    assert body[target][2] == "LOAD_FAST"
    assert "PRECALL" not in by_name and "CACHE" not in by_name


def test_code_that_no_compiler_made_is_refused() -> None:
    code = (lambda x: x if x else 1).__code__
    unknown = max(set(range(256)) - set(dis.opmap.values()) - {0})
    jump_past_the_end = [dis.opmap["RESUME"], 0, dis.opmap["JUMP_FORWARD"], 0x7F, dis.opmap["RETURN_VALUE"], 0]
    for raw in (bytes([unknown, 0]), bytes(jump_past_the_end)):
        broken = code.replace(co_code=raw)
        assert _C.bytecode_text(broken) == ""
        with pytest.raises(ValueError, match="no instructions"):
            _C.bytecode_round_trip(broken)


def test_code_that_is_refused_runs_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    def look_up(table: dict[str, int]) -> int:
        return table["key"]

    def caller(table: dict[str, int]) -> int:
        return look_up(table) + 1

    code = look_up.__code__
    look_up.__code__ = code.replace(co_code=code.co_code + bytes([dis.opmap["JUMP_FORWARD"], 0x7F]))  # never run
    caplog.set_level(logging.CRITICAL, "minidynamo")
    minidynamo.reset()
    for function, expected in ((look_up, 1), (caller, 2)):
        captured = minidynamo.compile(function, backend="eager")
        for _ in range(3):
            with pytest.raises(KeyError, match="key"):
                captured({})
            assert captured({"key": 1}) == expected
    assert [one.reason for one in minidynamo.explain(look_up)({"key": 1}).breaks] == ["internal"]


def test_opcode_tables_are_those_of_the_interpreter() -> None:
    specification = importlib.util.spec_from_file_location("make_opcodes", Path(__file__).parents[3] / "scripts" / "make_opcodes.py")
    assert specification and specification.loader
    make_opcodes = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(make_opcodes)
    assert make_opcodes.OPCODES.read_text() == make_opcodes.opcodes(), "run scripts/make_opcodes.py"
    assert make_opcodes.SPECIALIZED.read_text() == make_opcodes.specialized(), "run scripts/make_opcodes.py"
