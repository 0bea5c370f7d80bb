"""A function that asks how many references an object has is answered as without capture: it runs as it was."""

import gc
import sys
from collections.abc import Callable
from sys import getrefcount as count
from typing import Any

import pytest
import torch

import minidynamo
from minidynamo import debug


def of_a_local(x: torch.Tensor) -> Any:
    items = [x]
    return sys.getrefcount(items), items


def under_another_name(x: torch.Tensor) -> Any:
    y = x + 1
    return count(y), y


def behind_an_operator(x: torch.Tensor) -> Any:
    y = x + 1
    held = [y, y]
    return sys.getrefcount(y), held


def behind_a_break(x: torch.Tensor) -> Any:
    y = x + 1
    minidynamo.graph_break()
    z = y * 2
    return sys.getrefcount(y), sys.getrefcount(z), y


def of_what_an_inner_function_holds(x: torch.Tensor) -> Any:
    made = [x * 2]
    return counted(made), made[0] + 1


def counted(items: list[Any]) -> int:
    return sys.getrefcount(items[0])


def of_referrers(x: torch.Tensor) -> Any:
    owner = [x.sin()]
    return [type(each).__name__ for each in gc.get_referrers(owner[0]) if each is owner]


@pytest.mark.parametrize(
    "function",
    [of_a_local, under_another_name, behind_an_operator, behind_a_break, of_what_an_inner_function_holds, of_referrers],
)
def test_counts_are_those_of_eager(function: Callable[..., Any]) -> None:
    expected = function(torch.ones(2))
    captured = minidynamo.optimize("eager")(function)
    for _ in range(3):
        actual = captured(torch.ones(2))
        assert actual[0] == expected[0]
    reasons = {record.reason for record in [*debug.uncaptured(), *debug.graph_breaks()]}
    assert "reference-count" in reasons
