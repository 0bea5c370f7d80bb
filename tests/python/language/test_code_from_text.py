"""Code from text (eval, exec and what is built on them), variables and names as dicts, and the frames of the trace."""

import collections
import dataclasses
import enum
import inspect
import math
import sys
import traceback
import typing
import unittest
from collections.abc import Callable
from typing import Any

import pytest
import torch
from one_graph import check_one_graph, first

import minidynamo

Function = Callable[[torch.Tensor], Any]
SCALE = 3


class Base:
    tag = 1


class Left(Base):
    def method(self) -> int:
        return 1


def eval_locals(x: torch.Tensor) -> Any:
    k = 2  # noqa: F841
    return eval("x * k * SCALE")


def eval_names(x: torch.Tensor) -> Any:
    return eval("  a * b + c", {"a": x, "b": 3}, {"c": 2})


def eval_builtins(x: torch.Tensor) -> Any:
    return x * eval("len([1, 2]) + max(3, 4)") * eval("math.floor(2.5)")


def exec_function(x: torch.Tensor) -> Any:
    names: dict[str, Any] = {"k": 2}
    exec("def g(t, n=3):\n    global last\n    last = n\n    return t * n * k\ny = g(x := 1)", names)
    return names["g"](x) * names["y"] * names["last"], sorted(n for n in names if n != "__builtins__")


def exec_class(x: torch.Tensor) -> Any:
    names: dict[str, Any] = {}
    exec("class A:\n    v = 4\n    def f(self): return self.v * scale\nscale = 2", names)
    return x * names["A"]().f()


def compiled(x: torch.Tensor) -> Any:
    return x * eval(compile("3 + 4", "<text>", "eval"))


def local_names(x: torch.Tensor) -> Any:
    k, text = 2, "{k}"
    names = locals()
    later = 5
    again = locals()
    return x * names["k"] * later, sorted(names), again is names, text.format(**locals()), sorted(vars()), dir()


def cells(x: torch.Tensor) -> Any:
    k = 2

    def inner() -> Any:
        return k, sorted(locals())

    return x * inner()[0], inner()[1], sorted(locals())


def global_names(x: torch.Tensor) -> Any:
    return x * globals()["SCALE"], globals().get("absent", 1), "SCALE" in globals(), globals()["__name__"]


def directories(x: torch.Tensor) -> Any:
    made = Left()
    made.own = 1  # type: ignore[attr-defined]
    names = [name for name in dir(made) if not name.startswith("_")]
    return x * len(dir(math)), names, [name for name in dir(Left) if not name.startswith("_")]


def members(x: torch.Tensor) -> Any:
    return x * len(inspect.getmembers(Left, inspect.isfunction))


def subclasses(x: torch.Tensor) -> Any:
    return x * len(Base.__subclasses__()), Base.__subclasses__()[0].__name__


def named_tuple(x: torch.Tensor) -> Any:
    Pair = collections.namedtuple("Pair", "a b", defaults=[5])
    pair = Pair(x)
    return pair.a * pair.b * pair._replace(b=2).b, Pair.__module__, repr(Pair(1, 2)), Pair(1)._asdict()


def typed_tuple(x: torch.Tensor) -> Any:
    class Pair(typing.NamedTuple):
        a: torch.Tensor
        b: int = 3

    return Pair(x).a * Pair(x).b


def data_class(x: torch.Tensor) -> Any:
    @dataclasses.dataclass(order=True)
    class Item:
        a: int = 3
        b: list[int] = dataclasses.field(default_factory=list)

    return x * Item().a, Item(1) < Item(2), Item() == Item()


def enumeration(x: torch.Tensor) -> Any:
    Color = enum.Enum("Color", "RED GREEN")
    return x * Color.GREEN.value, Color.RED.name


def own_frame(x: torch.Tensor) -> Any:
    frame = sys._getframe()
    return x * 2, frame.f_code.co_name, frame.f_globals["SCALE"], frame.f_lineno - frame.f_code.co_firstlineno


def callers_name(depth: int) -> str:
    return sys._getframe(depth).f_code.co_name


def callers_frame(x: torch.Tensor) -> Any:
    def inner() -> Any:
        frame = inspect.currentframe()
        assert frame is not None and frame.f_back is not None
        # From 3.13 on it writes to the variables, which is a graph break.
        variables = sorted(frame.f_back.f_locals) if sys.version_info < (3, 13) else None
        return callers_name(1), callers_name(2), frame.f_back.f_code.co_name, variables

    return x * 2, inner()


def assert_raises(x: torch.Tensor) -> Any:
    case = unittest.TestCase()
    with case.assertRaises(ValueError) as raised:
        raise ValueError("bad")
    with case.assertRaisesRegex(KeyError, "k"):
        {}["k"]
    case.assertEqual(x.shape[0], 4)
    return x + 1, str(raised.exception)


def clear_frames(x: torch.Tensor) -> Any:
    def fails() -> None:
        raise ValueError("a")

    try:
        fails()
    except ValueError as error:
        traceback.clear_frames(error.__traceback__)
        own = error.__traceback__
        assert own is not None
        try:
            own.tb_frame.clear()
        except RuntimeError as refused:
            return x + 1, str(refused), sys.exc_info()[0]
    return x


PROGRAMS: list[Function] = [
    eval_locals,
    eval_names,
    eval_builtins,
    exec_function,
    exec_class,
    compiled,
    local_names,
    cells,
    global_names,
    directories,
    members,
    subclasses,
    named_tuple,
    typed_tuple,
    data_class,
    enumeration,
    own_frame,
    callers_frame,
    assert_raises,
    clear_frames,
]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_one_graph(function: Function, backend: str) -> None:
    check_one_graph(function, backend)


def test_names_are_guarded(monkeypatch: pytest.MonkeyPatch) -> None:
    functions = [eval_locals, global_names]
    captured = [minidynamo.compile(function, backend="eager", fullgraph=True) for function in functions]
    for value in (3, 4, 4):
        monkeypatch.setitem(globals(), "SCALE", value)
        for function, ours in zip(functions, captured, strict=True):
            torch.testing.assert_close(first(ours(torch.ones(1))), first(function(torch.ones(1))))


def test_what_dir_and_subclasses_tell_is_guarded() -> None:
    class Own(Base):
        pass

    def function(x: torch.Tensor) -> Any:
        return x * 2, [name for name in dir(Own) if not name.startswith("_")], len(Own.__subclasses__())

    captured = minidynamo.compile(function, backend="eager", fullgraph=True)
    assert captured(torch.ones(1))[1:] == (["tag"], 0)
    Own.other = 1  # type: ignore[attr-defined]

    class Derived(Own):
        pass

    assert captured(torch.ones(1))[1:] == (["other", "tag"], 1)
    assert Derived.tag == 1


def test_a_write_by_exec_to_the_modules_names() -> None:
    def function(x: torch.Tensor) -> Any:
        exec("global WRITTEN\nWRITTEN = 5")
        return x * 2

    captured = minidynamo.compile(function, backend="eager")
    captured(torch.ones(1))
    assert globals().pop("WRITTEN") == 5


def test_functions_of_executed_code_outlive_the_trace() -> None:
    def function(x: torch.Tensor) -> Any:
        names: dict[str, Any] = {}
        exec("count = 2\ndef g(t):\n    global count\n    count += 1\n    return t * count", names)
        return x * 2, names["g"], names

    captured = minidynamo.compile(function, backend="eager")
    for _ in range(2):
        _, g, names = captured(torch.ones(1))
        assert g(1) == 3 and g(1) == 4 and names["count"] == 4 and g.__globals__ is names


@pytest.mark.parametrize(
    "text, error",
    [("1 +", SyntaxError), ("absent", NameError), ("[][1]", IndexError)],
)
def test_errors_of_text(text: str, error: type[Exception]) -> None:
    def function(x: torch.Tensor) -> Any:
        try:
            eval(text)
        except error as raised:
            return x * 2, str(raised)
        return x

    captured = minidynamo.compile(function, backend="eager", fullgraph=True)
    assert captured(torch.ones(1))[1] == function(torch.ones(1))[1]
