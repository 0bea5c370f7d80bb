"""The comparison of tests/programs sees what it claims to see: each kind of wrong capture is told apart from a right one."""

import copy
import functools
import pathlib
import random
import warnings
from collections.abc import Callable
from typing import Any

import differential
import pytest
import torch

PROGRAM = '''# graphs: 1
"""A program with something of everything."""

import torch

TOTAL = {"calls": 0}
weight = torch.nn.Parameter(torch.ones(3))


class Counter:
    seen = 0


def f(x, items):
    y = x * weight
    if items[0] > 5:
        raise ValueError("too big")
    items.append(1)
    return y, [y, x], {"n": 2.0}


def inputs():
    return torch.ones(3), [1]


def failing():
    return torch.ones(3), [9]


calls = [inputs, failing]
'''


@pytest.fixture
def program(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def changed(after: Callable[[Any, tuple[Any, ...]], Any]) -> Callable[[Any], Any]:
    """A wrong capture: calls the function, then does something that it should not."""

    def wrap(function: Any) -> Any:
        @functools.wraps(function)
        def wrapper(*args: Any) -> Any:
            return after(function(*args), args)

        return wrapper

    return wrap


def raising(kind: type[Exception], message: str) -> Callable[[Any], Any]:
    def wrap(function: Any) -> Any:
        def wrapper(*args: Any) -> Any:
            try:
                return function(*args)
            except ValueError:
                raise kind(message) from None

        return wrapper

    return wrap


def in_globals(change: Callable[[dict[str, Any]], Any]) -> Callable[[Any], Any]:
    def wrap(function: Any) -> Any:
        def wrapper(*args: Any) -> Any:
            result = function(*args)
            change(function.__globals__)
            return result

        return wrapper

    return wrap


def warned(result: Any, args: Any) -> Any:
    warnings.warn_explicit("surprise", UserWarning, differential.sys.modules["__program__"].__file__, 3)
    return result


def slightly(result: Any, args: Any) -> Any:
    other = result[0] * (1 + 1e-6)
    return other, [other, args[0]], result[2]


WRONG: dict[str, Callable[[Any], Any]] = {
    "another value": changed(lambda result, args: (result[0] + 1, result[1], result[2])),
    "slightly another value": changed(slightly),
    "another number": changed(lambda result, args: (result[0], result[1], {"n": 2})),
    "another container": changed(lambda result, args: [*result]),
    "copy for identity": changed(lambda result, args: (result[0].clone(), result[1], result[2])),
    "copy of an input": changed(lambda result, args: (result[0], [result[0], args[0].clone()], result[2])),
    "detached": changed(lambda result, args: (result[0].detach(), result[1], result[2])),
    "another dtype": changed(lambda result, args: (result[0], [result[0], args[0].double()], result[2])),
    "input written": changed(lambda result, args: (args[0].data.add_(0.5), result)[1]),
    "effect dropped": changed(lambda result, args: (args[1].pop(), result)[1]),
    "printed": changed(lambda result, args: (print("x"), result)[1]),
    "warned": changed(warned),
    "torch's generator drawn": changed(lambda result, args: (torch.rand(1), result)[1]),
    "Python's generator drawn": changed(lambda result, args: (random.random(), result)[1]),
    "global written": in_globals(lambda names: names["TOTAL"].update(calls=1)),
    "global replaced": in_globals(lambda names: names.update(TOTAL=copy.copy(names["TOTAL"]), extra=1)),
    "class attribute written": in_globals(lambda names: setattr(names["Counter"], "seen", 1)),
    "parameter written": in_globals(lambda names: names["weight"].data.mul_(2)),
    "gradient written": in_globals(lambda names: setattr(names["weight"], "grad", torch.ones(3))),
    "attribute on a parameter": in_globals(lambda names: setattr(names["weight"], "mark", 1)),
    "another exception": raising(TypeError, "too big"),
    "another message": raising(ValueError, "too large"),
    "another traceback": raising(ValueError, "too big"),
}


def through(wrap: Callable[[Any], Any], program: pathlib.Path) -> list[str]:
    expected = differential.observe(program, lambda function: function)
    return differential.differences(expected, differential.observe(program, wrap), exact=True)


def test_equal_runs_show_no_difference(program: pathlib.Path) -> None:
    assert through(lambda function: function, program) == []
    assert through(changed(lambda result, args: result), program) == []


@pytest.mark.parametrize("name", WRONG)
def test_wrong_captures_are_seen(name: str, program: pathlib.Path) -> None:
    assert through(WRONG[name], program) != []


@pytest.mark.parametrize("mode", ["grad", "dtype"])
def test_modes_left_changed_are_seen(mode: str, program: pathlib.Path) -> None:
    def leave(result: Any, args: Any) -> Any:
        torch.set_grad_enabled(False) if mode == "grad" else torch.set_default_dtype(torch.float64)
        return result

    try:
        assert through(changed(leave), program) != []
    finally:
        torch.set_grad_enabled(True)
        torch.set_default_dtype(torch.float32)


def test_tolerance_only_where_asked(program: pathlib.Path) -> None:
    expected = differential.observe(program, lambda function: function)
    actual = differential.observe(program, WRONG["slightly another value"])
    assert differential.differences(expected, actual, exact=True)
    assert not differential.differences(expected, actual, exact=False)


def test_header(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "p.py"
    path.write_text("# graphs: 2\n# backends: eager, inductor\n")
    assert differential.Header.read(path) == differential.Header(2, ("eager", "inductor"))
    path.write_text("import torch\n")
    with pytest.raises(ValueError, match="graphs"):
        differential.Header.read(path)
