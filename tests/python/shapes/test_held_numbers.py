"""A number that changes between calls is captured once more, wherever the program holds it: not at each call."""

import collections
import types
import typing
from collections.abc import Callable
from typing import Any

import pytest
import torch

import minidynamo

X = torch.linspace(-1.0, 1.0, 6)
Pair = collections.namedtuple("Pair", "first second")


class Typed(typing.NamedTuple):
    first: Any
    second: Any


def use(x: torch.Tensor, n: Any) -> torch.Tensor:
    return x * n + torch.arange(6)


def by_star(x: torch.Tensor, held: Any) -> torch.Tensor:
    return use(x, *held)


def by_item(x: torch.Tensor, held: Any) -> torch.Tensor:
    return use(x, held[0])


def by_unpacking(x: torch.Tensor, held: Any) -> torch.Tensor:
    first, _ = held
    return use(x, first)


def by_match(x: torch.Tensor, held: Any) -> torch.Tensor:
    match held:
        case [first, _]:
            return use(x, first)
        case {"first": first}:
            return use(x, first)
        case types.SimpleNamespace(first=first):
            return use(x, first)
    raise AssertionError(held)


def nested(x: torch.Tensor, held: Any) -> torch.Tensor:
    (_, (first, name)), flag = held
    return use(x, first) if flag and name == "a" else x


def emptied(x: torch.Tensor, held: Any) -> torch.Tensor:
    first = held[0]
    del held[:]
    return use(x, first)


def without_another_item(x: torch.Tensor, held: Any) -> torch.Tensor:
    del held["second"]
    return use(x, held["first"])


def not_used(x: torch.Tensor, held: Any) -> torch.Tensor:
    _ = held[0]
    del held[:]
    return x.sin()


# How a function finds the number -> what makes the argument that holds it.
HELD: dict[str, tuple[Callable[..., Any], Callable[[Any], Any]]] = {
    "tuple of one": (by_star, lambda n: (n,)),
    "tuple by index": (by_item, lambda n: (n, 2)),
    "tuple unpacked": (by_unpacking, lambda n: (n, "a")),
    "tuple matched": (by_match, lambda n: (n, None)),
    "list matched": (by_match, lambda n: [n, None]),
    "dict matched": (by_match, lambda n: {"first": n}),
    "attribute matched": (by_match, lambda n: types.SimpleNamespace(first=n)),
    "tuple in tuples": (nested, lambda n: ((3, (n, "a")), True)),
    "tuple in a list": (nested, lambda n: [(3, (n, "a")), True]),
    "named tuple": (by_item, lambda n: Pair(n, 2)),
    "typing.NamedTuple": (by_unpacking, lambda n: Typed(n, 2)),
    "tuple in a dict": (lambda x, held: by_item(x, held["k"]), lambda n: {"k": (n, 2)}),
    "tuple of an instance": (lambda x, held: by_item(x, held.pair), lambda n: types.SimpleNamespace(pair=(n, 2))),
    "list that is emptied": (emptied, lambda n: [n, 2]),
    "dict that loses an item": (without_another_item, lambda n: {"first": n, "second": 2}),
    "list that is emptied, number unused": (not_used, lambda n: [n, 2]),
}
NUMBERS: dict[str, list[Any]] = {"int": [3, 5, 7, 9, 4], "float": [0.25, 0.5, -3.0, 7.5, 0.125]}


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("name", HELD)
def test_two_captures_serve_all_values(name: str, kind: str) -> None:
    f, make = HELD[name]
    captured = minidynamo.compile(f, backend="eager", fullgraph=True)
    for number in NUMBERS[kind]:
        assert torch.equal(captured(X, make(number)), f(X, make(number)))
    assert minidynamo.stats()["captured"] <= 2


@minidynamo.disable
def read(n: Any) -> Any:
    return n


def inlined_used(x: torch.Tensor, n: Any) -> torch.Tensor:
    number = read(n)
    y = x.sin()
    return use(y, number)


def inlined_unused(x: torch.Tensor, n: Any) -> torch.Tensor:
    number = read(n)  # noqa: F841
    return x.sin()


def inlined_across_breaks(x: torch.Tensor, n: Any) -> torch.Tensor:
    number = read(n)
    y = x.sin()
    minidynamo.graph_break()
    return use(y, number)


def two_deep(x: torch.Tensor, n: Any) -> torch.Tensor:
    return inlined_used(x, n) + 1


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("inner", [inlined_used, inlined_unused, inlined_across_breaks, two_deep], ids=lambda f: f.__name__)
def test_after_a_break_in_an_inlined_call(inner: Callable[..., Any], kind: str) -> None:
    def f(x: torch.Tensor, n: Any) -> torch.Tensor:
        return inner(x, n) * 2

    captured = minidynamo.compile(f, backend="eager")
    made = []
    for number in NUMBERS[kind]:
        assert torch.equal(captured(X, number), f(X, number))
        made.append(len(minidynamo.debug.captures()))
    assert made[2:] == made[2:3] * 3  # each part is captured once more, at the second or third call, and never again


@pytest.mark.parametrize("f", [lambda x, p: x + 1 if p == (6, 7) else x - 1, lambda x, p: x + {(6, 7): 1}.get(p, 2)], ids=["equal", "key"])
def test_a_tuple_that_decides_is_a_constant(f: Callable[..., Any]) -> None:
    captured = minidynamo.compile(f, backend="eager", fullgraph=True)
    for pair in [(4, 5), (6, 7), (8, 9), (6, 7), (4, 5), (8, 9), (10, 11), (6, 8)]:
        assert torch.equal(captured(X, pair), f(X, pair))


def test_a_tuple_whose_kind_of_item_changes() -> None:
    captured = minidynamo.compile(by_item, backend="eager", fullgraph=True)
    for held in [(3, 2), (4, 2), (4.5, 2), (True, 2), (5, 2), (2.5, 2), (5, "a"), (6, 2, 1)]:
        assert torch.equal(captured(X, held), by_item(X, held))


def test_the_tuple_is_returned() -> None:
    captured = minidynamo.compile(lambda x, held: (x + 1, held), backend="eager", fullgraph=True)
    for held in [(3, 2.5), (4, 3.5), (5, 4.5)]:
        _, returned = captured(X, held)
        assert returned == held and [type(item) for item in returned] == [int, float]
