"""A function that asks which objects are alive is answered as without capture: it runs uncaptured."""

import gc
import sys
import weakref
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


class Owner:
    """Refers to itself, so that only the garbage collector ends it."""

    def __init__(self, held: Any) -> None:
        self.itself, self.held = self, held


def of_all_objects(x: torch.Tensor) -> Any:
    owner = Owner(x * 2)
    return sum(each is owner for each in gc.get_objects()), owner.held


def of_a_size(x: torch.Tensor) -> Any:
    items = []
    for _ in range(5):
        items.append(x)
    return sys.getsizeof(items), items


@pytest.mark.parametrize(
    "function",
    [
        of_a_local,
        of_all_objects,
        of_a_size,
        under_another_name,
        behind_an_operator,
        behind_a_break,
        of_what_an_inner_function_holds,
        of_referrers,
    ],
)
def test_counts_are_those_of_eager(function: Callable[..., Any]) -> None:
    expected = function(torch.ones(2))
    captured = minidynamo.optimize("eager")(function)
    # CPython 3.14 lends variables to a call. A resume function loads each with a reference of its own.
    lends = function is behind_a_break and sys.version_info >= (3, 14)
    count = expected[0] + 1 if lends else expected[0]
    for _ in range(3):
        actual = captured(torch.ones(2))
        assert actual[0] == count
    reasons = {record.reason for record in [*debug.uncaptured(), *debug.graph_breaks()]}
    assert "object-lifetime" in reasons


def test_the_collector_counts_what_the_program_left() -> None:
    """From the second call on: a capture that comes to nothing leaves objects of its own."""

    def leave_one(x: torch.Tensor) -> Any:
        y = x + 1
        Owner(y)
        return gc.collect(), y

    captured = minidynamo.optimize("eager")(leave_one)
    captured(torch.ones(2))
    gc.collect()
    expected = leave_one(torch.ones(2))[0]
    assert captured(torch.ones(2))[0] == expected


def test_a_class_that_arguments_alone_hold_ends_in_the_call() -> None:
    """Captured code takes it from its variable: as one of its constants it would live as long as the call runs."""

    def end_it(items: list[Any]) -> bool:
        local = items.pop()
        minidynamo.graph_break()
        made, reference = local(), weakref.ref(local)
        del made, local
        minidynamo.graph_break()
        gc.collect()
        return reference() is None

    captured = minidynamo.optimize("eager")(end_it)
    for _ in range(3):
        assert captured([type("Local", (), {})])
