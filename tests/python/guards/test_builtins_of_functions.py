"""A function finds its builtins where it found them when it was made, whatever its module says later."""

import functools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import minidynamo

TEXT = """
def make():
    def made(x):
        return x + len([1, 2, 3])
    return made

def straight(x):
    return x + len([1, 2, 3])

def broken(x):
    y = x + len([1, 2, 3])
    graph_break()
    return y + len([1, 2])

def calls_broken(x):
    return broken(x) * len([1, 2])

def makes(x):
    def inner(y):
        return y + len([1, 2, 3])
    return inner(x)
"""


@pytest.fixture
def names() -> Iterator[dict[str, Any]]:
    module = {"graph_break": minidynamo.graph_break}
    exec(TEXT, module)
    yield module
    module.clear()


def _with_len_of_seven(names: dict[str, Any], call: Callable[[], Any]) -> Any:
    """Calls it while the module says that len() is 7."""
    usual = names["__builtins__"]
    names["__builtins__"] = {"len": lambda _: 7}
    try:
        return call()
    finally:
        names["__builtins__"] = usual


@pytest.mark.parametrize("name", ["straight", "broken", "calls_broken", "makes"])
@pytest.mark.parametrize("replaced_first", [False, True])
def test_module_names_other_builtins_later(names: dict[str, Any], name: str, replaced_first: bool) -> None:
    program = names[name]
    compiled = minidynamo.compile(program, backend="eager")
    for replaced in [replaced_first, not replaced_first] * 2:
        results = []
        for function in (compiled, program):
            call = functools.partial(function, torch.ones(1))
            results.append((_with_len_of_seven(names, call) if replaced else call()).tolist())
        assert results[0] == results[1]


def test_functions_of_one_code_with_other_builtins(names: dict[str, Any]) -> None:
    usual = names["make"]()
    of_seven = _with_len_of_seven(names, names["make"])
    for function, wanted in [(usual, 4.0), (of_seven, 8.0)] * 2:
        assert function(torch.ones(1)).item() == wanted
        assert minidynamo.compile(function, backend="eager")(torch.ones(1)).item() == wanted


def test_inlined_functions_of_one_code_with_other_builtins(names: dict[str, Any]) -> None:
    usual = names["make"]()
    of_seven = _with_len_of_seven(names, names["make"])

    def program(x: torch.Tensor, function: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
        return function(x) * 2

    compiled = minidynamo.compile(program, backend="eager")
    for function, wanted in [(usual, 8.0), (of_seven, 16.0)] * 2:
        assert compiled(torch.ones(1), function).item() == wanted
