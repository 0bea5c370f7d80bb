# ruff: noqa: C417
"""map, filter and reversed over what was made before a graph break, or before the call: followed without a break for each step."""

import collections
import itertools
import operator
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import minidynamo

Function = Callable[[torch.Tensor], Any]
SEEN: list[Any] = []


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    minidynamo.reset()
    SEEN.clear()
    yield


def maps(x: torch.Tensor) -> Any:
    rest = map(lambda value, scale: value * scale, [x, x + 1, x + 2], (1, 2, 3))
    total = next(rest)
    minidynamo.graph_break()
    for value in rest:
        total = total + value
    return total


def filters(x: torch.Tensor) -> Any:
    rest = filter(lambda number: number % 2, [1, 2, 3, 4, 5])
    total = x * next(rest)
    minidynamo.graph_break()
    return total, [total * number for number in rest]


def goes_back(x: torch.Tensor) -> Any:
    numbers, tensors = reversed([1, 2, 3, 4]), reversed((x, x + 1, x + 2))
    total = x * next(numbers) + next(tensors)
    minidynamo.graph_break()
    for number, value in zip(numbers, tensors):
        total = total * number + value
    return total, list(numbers), list(tensors)


def tells(x: torch.Tensor) -> Any:
    def told(number: int) -> torch.Tensor:
        SEEN.append(number)
        return x * number

    rest = map(told, [1, 2, 3, 4])
    total = next(rest)
    minidynamo.graph_break()
    total = total + next(rest)
    total = total + next(rest)
    minidynamo.graph_break()
    return total, list(SEEN), list(rest), list(SEEN)


def maps_of_maps(x: torch.Tensor) -> Any:
    rest = map(lambda value: value * 2, filter(lambda value: value > 1, map(lambda number: number + 1, iter([0, 1, 2, 3]))))
    total = x * next(rest)
    minidynamo.graph_break()
    total = total * next(rest)
    return total, list(rest)


ONE_BREAK = [maps, filters, goes_back, maps_of_maps]


def counts_maps(x: torch.Tensor) -> Any:
    rest = enumerate(map(lambda number: (SEEN.append(number), x * number)[1], [1, 2, 3, 4]))
    total = next(rest)[1]
    minidynamo.graph_break()
    index, value = next(rest)
    total = total + value * index
    minidynamo.graph_break()
    return total, list(rest), list(SEEN)


def maps_native(x: torch.Tensor) -> Any:
    rest = map(torch.sin, [x, x + 1, x + 2])
    total = next(rest)
    minidynamo.graph_break()
    for value in rest:
        total = total + value
    return total


def stops_early(x: torch.Tensor) -> Any:
    def until_three(number: int) -> int:
        if number == 3:
            raise StopIteration
        return number

    rest = map(until_three, [1, 2, 3, 4])
    total = x * next(rest)
    minidynamo.graph_break()
    return total, list(rest), list(rest)


def raises(x: torch.Tensor) -> Any:
    rest = map(lambda number: 1 // number, [1, 0, 1])
    total = x * next(rest)
    minidynamo.graph_break()
    try:
        next(rest)
    except ZeroDivisionError:
        total = total + 1
    return total, list(rest)


@pytest.mark.parametrize(
    "function", [*ONE_BREAK, tells, counts_maps, maps_native, stops_early, raises], ids=lambda function: function.__name__
)
def test_as_eagerly(function: Function) -> None:
    captured = minidynamo.compile(function, backend="eager")
    for scale in (1.0, 1.0, 2.0):
        outcomes = []
        for run in (captured, function):
            SEEN.clear()
            outcomes.append((run(torch.full((3,), scale)), list(SEEN)))
        torch.testing.assert_close(outcomes[0], outcomes[1])


@pytest.mark.parametrize("function", ONE_BREAK, ids=lambda function: function.__name__)
def test_one_break(function: Function) -> None:
    minidynamo.compile(function, backend="eager")(torch.ones(3))
    assert len(minidynamo.debug.graph_breaks()) == 1


@pytest.mark.parametrize(
    "make",
    [lambda: map(lambda n: n * 2, [1, 2, 3]), lambda: filter(None, [0, 1, 2, 3]), lambda: reversed([1, 2, 3]), lambda: reversed((1, 2, 3))],
)
def test_given(make: Callable[[], Iterator[int]]) -> None:
    """An iterator of the caller's stands where it stood eagerly, and each call goes on from there."""

    def function(x: torch.Tensor, rest: Iterator[int]) -> torch.Tensor:
        return x * next(rest)

    captured = minidynamo.compile(function, backend="eager")
    mine, theirs = make(), make()
    for _ in range(2):
        torch.testing.assert_close(captured(torch.ones(3), mine), function(torch.ones(3), theirs))
    assert list(mine) == list(theirs)


def test_sequence_of_the_program() -> None:
    """reversed() over a class of the program's own is not looked into, in a guard neither."""

    class Steps:
        def __len__(self) -> int:
            return 2

        def __getitem__(self, index: int) -> int:
            return 5 + index

    def function(x: torch.Tensor, rest: Iterator[int]) -> Any:
        return x * 2, list(rest)

    captured = minidynamo.compile(function, backend="eager")
    for given in ((), (1, 2), Steps(), ()):
        assert captured(torch.ones(3), reversed(given))[1] == list(reversed(given))


def walks_set(x: torch.Tensor) -> Any:
    numbers = {3, 1, 2}
    rest = iter(numbers)
    total = x * next(rest)
    minidynamo.graph_break()
    kind = type(rest).__name__
    for number in rest:
        total = total * number
    return total, kind, list(rest), type(rest).__name__


def walks_frozenset(x: torch.Tensor) -> Any:
    rest = iter(frozenset({"a", "bb", "ccc"}))
    total = x * len(next(rest))
    minidynamo.graph_break()
    return total, type(rest).__name__, sorted(total.numel() * len(name) for name in rest)


def ended_set(x: torch.Tensor) -> Any:
    rest = iter({1, 2})
    taken = list(rest)
    minidynamo.graph_break()
    return x * len(taken), type(rest).__name__, list(rest)


def walks_text(x: torch.Tensor) -> Any:
    plain, wide, raw = iter("abc"), iter("a\u20ac\U0001f600"), iter(b"abc")
    total = x * ord(next(plain)) + ord(next(wide)) + next(raw)
    minidynamo.graph_break()
    kinds = [type(each).__name__ for each in (plain, wide, raw)]
    for letter, other, number in zip(plain, wide, raw):
        total = total * ord(letter) + ord(other) - number
    return total, kinds, list(plain), list(wide), list(raw)


def set_that_changes(x: torch.Tensor) -> Any:
    numbers = {3, 1, 2}
    rest = iter(numbers)
    next(rest)
    minidynamo.graph_break()
    numbers.add(10)
    try:
        next(rest)
    except RuntimeError as error:
        return x + 1, str(error)
    return x


TABLE = {1, 2, 3}


def set_from_outside(x: torch.Tensor) -> Any:
    rest = iter(TABLE)
    total = x * next(rest)
    minidynamo.graph_break()
    return total, list(rest), type(rest).__name__, len(TABLE)


@pytest.mark.parametrize("function", [walks_set, walks_frozenset, ended_set, walks_text, set_from_outside], ids=lambda f: f.__name__)
def test_sets_and_text_keep_their_iterators(function: Function) -> None:
    captured = minidynamo.compile(function, backend="eager")
    for scale in (1.0, 1.0, 2.0):
        x = torch.full((3,), scale)
        assert repr(captured(x)) == repr(function(x))
    assert len(minidynamo.debug.graph_breaks()) == 1


def test_a_set_that_changes_behind_a_break() -> None:
    captured = minidynamo.compile(set_that_changes, backend="eager")
    for _ in range(2):
        assert repr(captured(torch.ones(3))) == repr(set_that_changes(torch.ones(3)))


@pytest.mark.parametrize(
    ("make", "other"),
    [
        (lambda: iter({1, 2, 3}), lambda: iter({4, 5})),
        (lambda: iter("12"), lambda: iter("34")),
        (lambda: iter("1\u20ac"), lambda: iter("\u20ac1")),
        (lambda: iter(b"12"), lambda: iter(b"3")),
    ],
)
def test_sets_and_text_given(make: Callable[[], Iterator[Any]], other: Callable[[], Iterator[Any]]) -> None:
    def function(x: torch.Tensor, rest: Iterator[Any]) -> Any:
        first = next(rest, None)
        return x + 1, first, type(rest).__name__

    captured = minidynamo.compile(function, backend="eager", fullgraph=True)
    for build in (make, make, other, make):
        mine, theirs = build(), build()
        for _ in range(4):
            assert repr(captured(torch.ones(3), mine)) == repr(function(torch.ones(3), theirs))
        assert list(mine) == list(theirs)


def test_a_given_set_that_changed() -> None:
    def function(x: torch.Tensor, rest: Iterator[int]) -> Any:
        return x * next(rest)

    captured = minidynamo.compile(function, backend="eager")
    numbers = {1, 2, 3}
    rest = iter(numbers)
    captured(torch.ones(3), rest)
    numbers.add(7)
    with pytest.raises(RuntimeError, match="changed size"):
        captured(torch.ones(3), rest)


@pytest.mark.parametrize(
    "make",
    [
        lambda: iter([1, 2, 3]),
        lambda: iter((1, 2, 3)),
        lambda: iter({1, 2, 3}),
        lambda: iter({1: 2, 3: 4}),
        lambda: iter({1: 2, 3: 4}.items()),
        lambda: reversed([1, 2, 3]),
        lambda: iter(range(4)),
        lambda: iter("abc"),
        lambda: itertools.repeat(1, 4),
        lambda: enumerate([1, 2]),
        lambda: zip([1, 2], [3, 4], strict=True),
        lambda: iter(collections.OrderedDict(a=1)),
    ],
)
def test_length_hint(make: Callable[[], Iterator[Any]]) -> None:
    def f(iterator: Iterator[Any]) -> list[Any]:
        seen: list[Any] = [operator.length_hint(iterator), operator.length_hint(iterator, 7)]
        seen.append(next(iterator))
        seen += [operator.length_hint(iterator, 7), getattr(iterator, "__length_hint__", lambda: None)()]
        return [*seen, *itertools.islice(iterator, 5), operator.length_hint(iterator, 7)]

    compiled = minidynamo.compile(f, backend="eager")
    for _ in range(2):
        assert compiled(make()) == f(make())


@pytest.mark.parametrize("made", [zip, lambda *columns: map(lambda *numbers: sum(numbers), *columns)])
def test_an_iterator_over_more_or_fewer_iterators_is_another(made: Callable[..., Any]) -> None:
    def function(x: torch.Tensor, items: Any) -> Any:
        first, second = items
        return x + 1, first, second

    captured = minidynamo.compile(function, backend="eager")
    a, b, c = (0, 1), (2, 3), (4, 5)
    for columns in [(a,), (a, b), (a, b, c), (a, b), (a,)]:
        assert captured(torch.ones(2), made(*columns))[1:] == function(torch.ones(2), made(*columns))[1:]
