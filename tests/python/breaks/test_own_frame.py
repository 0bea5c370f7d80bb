"""Code that looks at the frame that calls it sees what eager shows, whatever name the program has for it.

The readers are C functions (`locals`, `eval`, `sys._getframe`) and Python functions that use them; the program reaches them
directly, under another name, through a parameter, a cell, `getattr`, `functools.partial`, or in a function that it calls. Each is
tried with and without a graph break before, which would leave it with a resume function.
"""

# The code is under test as it is spelled out here.

import builtins
import functools
import inspect
import logging
import sys
import traceback
import warnings
from collections.abc import Callable
from sys import _getframe as get_frame
from typing import Any

import pytest
import torch

import minidynamo

X = torch.linspace(-1.0, 1.0, 4)
loc = locals
ev = eval
ex = exec
directory = dir
bound = functools.partial(eval, "sorted(locals())")
LOGGER = logging.getLogger("test_own_frame")


def named(frame: Any) -> list[str]:
    return sorted(frame.f_locals)


def caller_names() -> list[str]:
    return named(sys._getframe(1))


def caller_of_caller() -> list[str]:
    return caller_names_above()


def caller_names_above() -> list[str]:
    return named(get_frame(2))


def plain_locals(x, k):
    y = x * k
    return y, sorted(locals())


def alias_locals(x, k):
    y = x * k
    return y, sorted(loc())


def alias_eval(x, k):
    y = x * k
    return y, ev("k + 1"), ev("sorted(locals())")


def eval_with_globals(x, k):
    return x * k, eval("a + 1", {"a": k}), eval("a + b", {"a": k}, {"b": 2})


def alias_exec(x, k):
    y = x * k
    found: list[Any] = []
    ex("found.append(sorted(locals()))")
    return y, found


def no_arguments(x, k):
    y = x * k
    return y, sorted(vars()), dir(), directory()


def in_parameter(x, k, read=locals):
    y = x * k
    return y, sorted(read())


def in_cell(x, k):
    read = locals

    def inner(z):
        w = z + k
        return w, sorted(read())

    return inner(x)


def by_partial(x, k):
    y = x * k
    return y, bound()


def computed_name(x, k):
    y = x * k
    return y, named(getattr(sys, "_get" + "frame")())


def imported_name(x, k):
    y = x * k
    return y, named(get_frame())


def imported_inside(x, k):
    from inspect import currentframe as here

    y = x * k
    return y, named(here())


def current_frame(x, k):
    y = x * k
    return y, named(inspect.currentframe()), inspect.currentframe().f_code.co_varnames


def whole_stack(x, k):
    y = x * k
    return y, [info.function for info in inspect.stack()[:2]], named(inspect.stack()[0].frame)


def callee_reads(x, k):
    y = x * k
    return y, caller_names()


def callee_of_callee_reads(x, k):
    y = x * k
    return y, caller_of_caller()


def method_reads(x, k):
    class Reader:
        def names(self):
            return named(sys._getframe(1))

    y = x * k
    return y, READER.names()


class Reader:
    def names(self) -> list[str]:
        return named(sys._getframe(1))


READER = Reader()


def extracted(x, k):
    y = x * k
    last = traceback.extract_stack()[-1]
    return y, last.name, last.lineno, last.line


def logged(x, k):
    y = x * k
    LOGGER.warning("k is %s", k)
    return y


def warned(x, k):
    y = x * k
    warnings.warn("here", stacklevel=1)
    return y


def current_frames(x, k):
    import threading

    y = x * k
    return y, named(sys._current_frames()[threading.get_ident()])


def globals_alias(x, k):
    table = globals
    return x * k, table()["X"] is X


class Base:
    def scaled(self, x):
        return x * 2


class Derived(Base):
    def scaled(self, x):
        y = super(*[]).scaled(x)
        return y + 1


def super_unpacked(x, k):
    return Derived().scaled(x) * k


def mapped(x, k):
    y = x * k
    return y, list(map(eval, ["k", "k + 1"]))


def compiled(x, k):
    code = compile("def g(a: undefined): return a", "<made>", "exec")
    return x * k, code.co_flags


READERS = [
    plain_locals,
    alias_locals,
    alias_eval,
    eval_with_globals,
    alias_exec,
    no_arguments,
    in_parameter,
    in_cell,
    by_partial,
    computed_name,
    imported_name,
    imported_inside,
    current_frame,
    whole_stack,
    callee_reads,
    callee_of_callee_reads,
    method_reads,
    extracted,
    current_frames,
    globals_alias,
    super_unpacked,
    mapped,
    compiled,
]


def same(expected: Any, actual: Any) -> bool:
    if isinstance(expected, torch.Tensor):
        return isinstance(actual, torch.Tensor) and torch.equal(expected, actual)
    if isinstance(expected, (tuple, list)):
        return type(expected) is type(actual) and len(expected) == len(actual) and all(map(same, expected, actual))
    return bool(expected == actual)


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)
def test_reader(reader: Callable[..., Any]) -> None:
    captured = minidynamo.compile(reader, backend="eager")
    for k in (2, 3, 2):
        assert same(reader(X, k), captured(X, k))


# A break before the reader: what comes after it would run in a resume function, unless the frame is left whole.
BROKEN = """
def broken(x, k{more}):
    unused = k + 1
    minidynamo.graph_break()
    y = x * k
    return y, {read}
"""


@pytest.mark.parametrize(
    "read, more",
    [
        ("sorted(locals())", ""),
        ("sorted(loc())", ""),
        ("ev('sorted(locals())')", ""),
        ("sorted(vars())", ""),
        ("directory()", ""),
        ("sorted(read())", ", read=locals"),
        ("bound()", ""),
        ("named(sys._getframe())", ""),
        ("named(get_frame())", ""),
        ("named(inspect.currentframe())", ""),
        ("caller_names()", ""),
        ("caller_of_caller()", ""),
        ("list(map(eval, ['k', 'unused']))", ""),
    ],
)
def test_reader_behind_a_break(read: str, more: str) -> None:
    namespace = dict(globals())
    exec(BROKEN.format(read=read, more=more), namespace)
    broken = namespace["broken"]
    captured = minidynamo.compile(broken, backend="eager")
    for k in (2, 3, 2):
        assert same(broken(X, k), captured(X, k))


def test_lines_and_places_stay_those_of_the_program(caplog: pytest.LogCaptureFixture) -> None:
    def places(f: Callable[..., Any]) -> list[Any]:
        caplog.clear()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for k in (2, 2):
                f(X, k)
        return [(r.funcName, r.lineno, r.pathname) for r in caplog.records] + [(w.filename, w.lineno) for w in caught]

    for reader in (logged, warned):
        assert places(reader) == places(minidynamo.compile(reader, backend="eager"))


def test_a_frame_that_nobody_looks_at_is_split() -> None:
    graphs: list[Any] = []

    def backend(graph: Any, inputs: Any) -> Any:
        graphs.append(graph)
        return graph

    def f(x, k):
        y = x * k
        seen = dir(k)
        return y + len(seen)

    captured = minidynamo.compile(f, backend=backend)
    assert torch.equal(captured(X, 2), f(X, 2))
    assert len(graphs) == 2
    assert builtins.dir is dir
