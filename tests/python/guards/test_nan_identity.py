"""A NaN equals no number, but itself where CPython looks for it in a container: by the address of the object.

So calls with NaNs of the same value differ: which of them are one object decides. Each expression is asked of calls where two are one,
and of calls where they are two, in both orders.
"""

from collections.abc import Callable
from typing import Any

import pytest
import torch

import minidynamo

EXPRESSIONS = [
    "a in items",
    "items.index(a) if a in items else -1",
    "items.count(a)",
    "a is items[0]",
    "[a] == items[:1]",
    "(a,) == (items[0],)",
    "{a: 1}.get(items[0])",
    "len({a, items[0]})",
    "a in items[2]",
    "items[2].get(a)",
    "items[2] == {a: 1}",
    "[*items[2]] == [a]",
    "a in items[3]",
    "[item for item in items[3]] == [a]",
    "(a, 1) in items[4]",
    "a in items[5]",
    "(a,) == items[5]",
    "items[5] in {(a,)}",
    "a in items[6]",
    "frozenset([a]) == items[6]",
    "items[6] == items[3]",
    "a in items[7]",
    "(a, 1) in items[8]",
    "items[9]['key'] is a",
    "slice(a) == slice(items[0])",
]

NANS: dict[str, Callable[[], Any]] = {"float": lambda: float("nan"), "complex": lambda: complex(1, float("nan"))}


def holding(nan: Any) -> list[Any]:
    key = {nan: 1}
    return [nan, 2.0, key, {nan}, [(nan, 1)], (nan,), frozenset([nan]), {nan: 1}.keys(), {(nan, 1): 3}, {"key": nan}]


@pytest.mark.parametrize("expression", EXPRESSIONS)
@pytest.mark.parametrize("is_one_first", [True, False])
@pytest.mark.parametrize("nan", NANS)
def test_one_nan_is_told_from_another(expression: str, is_one_first: bool, nan: str) -> None:
    names: dict[str, Any] = {}
    exec(f"def function(x, a, items): return x + 1, {expression}", names)
    function = names["function"]
    captured = minidynamo.compile(function, backend="eager")
    for call in range(6):
        a, b = NANS[nan](), NANS[nan]()
        items = holding(a if is_one_first == (call % 2 == 0) else b)
        assert captured(torch.ones(1), a, items)[1] == function(torch.ones(1), a, items)[1]


def test_a_nan_is_captured_once() -> None:
    """As long as it is not asked which one it is."""
    graphs = []

    def backend(graph: torch.fx.GraphModule, inputs: list[Any]) -> Callable[..., Any]:
        graphs.append(graph)
        return graph.forward

    captured = minidynamo.compile(lambda x, value: x * value + value, backend=backend)
    for _ in range(5):
        assert captured(torch.ones(2), float("nan")).isnan().all()
    assert len(graphs) == 1


@pytest.mark.parametrize("nan", NANS)
def test_a_set_is_made_of_the_nans_of_the_call(nan: str) -> None:
    captured = minidynamo.compile(lambda x, values: (x + 1, set(values), {*values}), backend="eager")
    for _ in range(4):
        values = [NANS[nan]() for _ in range(4)]
        for made in captured(torch.ones(1), values)[1:]:
            assert {id(value) for value in made} == {id(value) for value in values}
