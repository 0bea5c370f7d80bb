"""The order of a set of objects follows from their addresses, which are others at the next call.

A set that was filled in another order may have equal items elsewhere where hashes collide, so eager's own order is not asked for: each
item comes once, and two readings of one set agree, with whatever objects the call brings.
"""

import collections
import itertools
import random
from collections.abc import Callable, Iterable
from typing import Any

import pytest
import torch

import minidynamo

X = torch.ones(2)


class Thing:
    def __init__(self, number: int) -> None:
        self.number = number

    def method(self) -> int:
        return self.number


class Shown(Thing):
    def __repr__(self) -> str:
        return f"<{self.number}>"


@minidynamo.disable
def number_of(thing: Any) -> int:
    return thing.number if isinstance(thing, Thing) else int(thing.flatten()[0])


@minidynamo.disable
def numbers_of(things: Iterable[Any]) -> list[int]:
    return [number_of(thing) for thing in things]


def walked(made: Any) -> list[int]:
    found = []
    for thing in made:
        found.append(number_of(thing))
    return found


def popped(made: Any) -> list[int]:
    rest = set(made)
    return [number_of(rest.pop()) for _ in range(len(rest))]


def unpacked(made: Any) -> list[int]:
    a, b, *others = made
    return numbers_of([a, b, *others])


def extended(made: Any) -> list[int]:
    found: list[Any] = []
    found.extend(made)
    found = found[:1]
    found += made
    return numbers_of(found[1:])


READINGS: dict[str, Callable[[Any], list[int]]] = {
    "for": walked,
    "comprehension": lambda made: [number_of(thing) for thing in made],
    "list": lambda made: numbers_of(list(made)),
    "display": lambda made: numbers_of([*made]),
    "tuple": lambda made: numbers_of(tuple(made)),
    "pop": popped,
    "unpacked": unpacked,
    "extend": extended,
    "call": lambda made: numbers_of((lambda *things: things)(*made)),
    "fromkeys": lambda made: numbers_of(dict.fromkeys(made)),
    "zip": lambda made: [number_of(one) for one, _ in zip(made, itertools.count())],
    "enumerate": lambda made: [number_of(one) for _, one in enumerate(made)],
    "map": lambda made: list(map(number_of, made)),
    "sorted": lambda made: numbers_of(sorted(made, key=lambda thing: 0)),
    "deque": lambda made: numbers_of(collections.deque(made)),
    "chain": lambda made: numbers_of(itertools.chain.from_iterable([made])),
    "repr": lambda made: [int(part.strip("{}<> ")) for part in repr(made).split(",")],
    "format": lambda made: [int(part.strip("{}<> ")) for part in f"{made}".split(",")],
    "nested": lambda made: [int(part.strip("[]{}<> ")) for part in str([made]).split(",")],
}

TEXTS = {"repr", "format", "nested"}  # those of tensors are no numbers

MAKERS: dict[str, Callable[[list[Any]], Any]] = {
    "set": lambda things: set(things),
    "display": lambda things: {things[0], *things},
    "comprehension": lambda things: {thing for thing in things},  # noqa: C416
    "union": lambda things: set(things[:2]) | set(things[1:]),
    "update": lambda things: (made := {things[0]}, made.update(things))[0],
}


def fresh(kind: type) -> list[Any]:
    """Objects whose addresses no earlier call had in the same order."""
    between = [[object() for _ in range(random.randrange(9))] for _ in range(5)]
    things = [torch.full((2,), float(i)) if kind is torch.Tensor else kind(i) for i in range(4)]
    random.shuffle(things)
    KEPT.append((between, things))
    return things


KEPT: list[Any] = []  # so that no address comes again


@pytest.mark.parametrize(
    ("reading", "kind"), [*((one, Shown) for one in READINGS), *((one, torch.Tensor) for one in READINGS if one not in TEXTS)]
)
@pytest.mark.parametrize("make", MAKERS)
def test_each_item_comes_once_and_in_one_order(reading: str, make: str, kind: type) -> None:
    read, maker = READINGS[reading], MAKERS[make]

    def function(x: torch.Tensor, things: list[Any]) -> Any:
        made = maker(things)
        return x + 1, read(made), read(made)

    captured = minidynamo.compile(function, backend="eager")
    with minidynamo.config.patch(stop_where_slower=False):
        for _ in range(20):
            _, first, second = captured(X, fresh(kind))
            assert sorted(first) == [0, 1, 2, 3]
            assert first == second or reading == "pop"  # pops from a copy


WHOLE: dict[str, Callable[[list[Any]], Any]] = {
    "len": lambda things: len(set(things)),
    "in": lambda things: things[0] in set(things[:2]),
    "not in": lambda things: things[3] not in {*things[:2]},
    "add": lambda things: (seen := set(), [seen.add(thing) for thing in things if thing not in seen], len(seen))[-1],
    "discard": lambda things: (seen := set(things), seen.discard(things[0]), len(seen))[-1],
    "truth": lambda things: bool(set(things)),
    "equal": lambda things: set(things) == set(things[1:] + things[:1]),
    "subset": lambda things: set(things[:2]) <= set(things),
    "issubset": lambda things: set(things[:2]).issubset(set(things)),
    "and": lambda things: len(set(things[:2]) & set(things[1:])),
    "minus": lambda things: len(set(things) - set(things[1:])),
    "copy": lambda things: len(set(things).copy() ^ set(things[:1])),
    "frozenset": lambda things: len(frozenset(set(things))),
    "returned": lambda things: [thing in kept for kept in [set(things)] for thing in things],
    "kept": lambda things: len([set(things)]) + len({"key": set(things)}),
    "one": lambda things: [thing.number for thing in {things[0]}],
    "methods": lambda things: len({things[0].method, things[1].method}),
}


@pytest.mark.parametrize("use", WHOLE)
def test_what_asks_for_no_order_is_captured(use: str) -> None:
    function = WHOLE[use]
    captured = minidynamo.compile(lambda x, things: (x + 1, function(things)), backend="eager", fullgraph=True)
    for _ in range(3):
        things = [Shown(i) for i in range(4)]
        assert captured(X, things)[1] == function(things)


@pytest.mark.parametrize("items", [("a", "b", "c"), (torch.float32, torch.int64), (int, str, Thing), (1, 2.5, "x", None)])
def test_the_order_of_what_stays_itself_is_known(items: tuple[Any, ...]) -> None:
    def function(x: torch.Tensor) -> Any:
        return x + 1, list(set(items)), [item for item in {*items}]  # noqa: C416

    captured = minidynamo.compile(function, backend="eager", fullgraph=True)
    assert captured(X)[1:] == function(X)[1:]


@pytest.mark.parametrize("nan", [lambda: float("nan"), lambda: complex(0, float("nan")), lambda: (1, float("nan"))])
def test_numbers_that_are_not_a_number_lie_by_their_addresses(nan: Callable[[], Any]) -> None:
    """CPython hashes each by the address of its object."""

    def function(x: torch.Tensor, values: list[Any]) -> Any:
        return x + 1, len(set(values)), sorted([values.index(value) for value in set(values)])

    captured = minidynamo.compile(function, backend="eager")
    for _ in range(20):
        KEPT.append([[nan() for _ in range(random.randrange(9))], values := [nan() for _ in range(4)]])
        random.shuffle(values)
        assert captured(X, values)[1:] == function(X, values)[1:]


def test_modules_of_a_model_are_gone_through() -> None:
    def function(x: torch.Tensor, model: torch.nn.Module) -> Any:
        for layer in set(model.children()):
            x = layer(x)
        return x

    captured = minidynamo.compile(function, backend="eager", fullgraph=True)
    for _ in range(6):
        model = torch.nn.Sequential(*[torch.nn.Linear(2, 2) for _ in range(4)])
        KEPT.append(model)
        assert torch.equal(captured(X, model), function(X, model))
        assert torch.equal(captured(X, model), function(X, model))


def test_the_reason_is_said() -> None:
    report = minidynamo.explain(lambda x, things: (x + 1, list(set(things))))(X, fresh(Thing))
    (broken,) = report.breaks
    assert "the order of a set is asked that has a Thing, which follows from its address" in str(broken)
