"""Iterators of itertools at a graph break, each after every number of steps: what comes next is what comes next eagerly.

They are made again behind the break, out of what their structs hold, so the program has to be split and not run uncaptured.
"""

import itertools
import operator
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import minidynamo

X = torch.linspace(0.0, 1.0, 4)
MOST_STEPS = 6
MOST_ITEMS = 12  # that are looked at: some never end


def is_small(value: Any) -> bool:
    return bool(value < 3)


CASES: dict[str, Callable[[torch.Tensor], Iterator[Any]]] = {
    "accumulate": lambda x: itertools.accumulate([1, 2, 3, 4]),
    "accumulate a function": lambda x: itertools.accumulate([1, 2, 3], operator.mul, initial=5),
    "accumulate tensors": lambda x: itertools.accumulate([x, x + 1, x * 2], lambda a, b: a - b),
    "chain": lambda x: itertools.chain([1, 2], (), "ab", [x]),
    "chain of an iterable": lambda x: itertools.chain.from_iterable(iter([[1], [2, x]])),
    "combinations": lambda x: itertools.combinations([1, x, 3, 4], 2),
    "combinations of none": lambda x: itertools.combinations([1], 2),
    "combinations of nothing": lambda x: itertools.combinations([1, 2], 0),
    "combinations with replacement": lambda x: itertools.combinations_with_replacement("abc", 2),
    "compress": lambda x: itertools.compress([1, 2, x, 4], iter([1, 0, 1, 1])),
    "count": lambda x: itertools.count(3),
    "count large": lambda x: itertools.count(2**70, 3),
    "count floats": lambda x: itertools.count(0.5, 0.25),
    "cycle": lambda x: itertools.cycle([1, x, 3]),
    "cycle of nothing": lambda x: itertools.cycle([]),
    "dropwhile": lambda x: itertools.dropwhile(is_small, [1, 2, 3, 1, 4]),
    "filterfalse": lambda x: itertools.filterfalse(is_small, [1, 5, 2, 6]),
    "filterfalse of truth": lambda x: itertools.filterfalse(None, [0, 1, "", 2]),
    "groupby": lambda x: map(operator.itemgetter(0), itertools.groupby([1, 1, 2, 3, 3], is_small)),
    "islice": lambda x: itertools.islice([1, x, 3, 4, 5, 6], 1, 6, 2),
    "islice without an end": lambda x: itertools.islice(itertools.count(), 2, None, 3),
    "pairwise": lambda x: itertools.pairwise([1, x, 3]),
    "permutations": lambda x: itertools.permutations([1, x, 3], 2),
    "permutations of all": lambda x: itertools.permutations("abc"),
    "product": lambda x: itertools.product([1, x], "ab", repeat=1),
    "product of none": lambda x: itertools.product([1], []),
    "product of nothing": lambda x: itertools.product(),
    "repeat": lambda x: itertools.repeat(x, 4),
    "repeat for ever": lambda x: itertools.repeat("a"),
    "starmap": lambda x: itertools.starmap(operator.add, [(1, 2), (x, 1), (3, 4)]),
    "takewhile": lambda x: itertools.takewhile(is_small, [1, 2, 3, 1]),
    "tee": lambda x: itertools.tee([1, x, 3])[1],
    "tee of many": lambda x: itertools.tee(range(200))[0],
    "zip_longest": lambda x: itertools.zip_longest([1, x, 3, 4], "ab", iter(()), fillvalue=x),
}
if hasattr(itertools, "batched"):
    CASES["batched"] = lambda x: itertools.batched([1, x, 3, 4, 5], 2)


def text(value: Any) -> Any:
    return [text(item) for item in value] if isinstance(value, (list, tuple)) else str(value)


@pytest.mark.parametrize("steps", range(MOST_STEPS))
@pytest.mark.parametrize("name", CASES)
def test_goes_on(name: str, steps: int) -> None:
    make = CASES[name]

    def f(x: torch.Tensor) -> Any:
        walk = make(x)
        taken = [next(walk, None) for _ in range(steps)]
        y = x + 1
        minidynamo.graph_break()
        return y * 2, taken, list(itertools.islice(walk, MOST_ITEMS))

    expected = text(f(X))
    optimized = minidynamo.optimize("eager")(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # pickling warns from 3.12 on
        assert [text(optimized(X)) for _ in range(2)] == [expected] * 2
    assert not minidynamo.debug.uncaptured(), minidynamo.debug.uncaptured()


def test_two_of_one_tee_share_what_they_have_read() -> None:
    def f(x: torch.Tensor, count: int) -> Any:
        ahead, behind, third = itertools.tee((n * n for n in range(count)), 3)
        taken = [next(ahead) for _ in range(70)]  # more than one block of it
        taken.append(next(behind))
        y = x + 1
        minidynamo.graph_break()
        return y * 2, taken, list(ahead), list(behind), list(third)

    expected = text(f(X, 90))
    optimized = minidynamo.optimize("eager")(f)
    assert [text(optimized(X, 90)) for _ in range(2)] == [expected] * 2
    assert not minidynamo.debug.uncaptured()


def test_groups_at_a_break() -> None:
    """A group ends where the groupby that it belongs to goes on to the next one."""

    def f(x: torch.Tensor, values: list[int]) -> Any:
        walk = itertools.groupby(values, lambda value: value // 10)
        _, passed = next(walk)
        key, group = next(walk)
        first = next(group)
        y = x + 1
        minidynamo.graph_break()
        return y * 2, key, first, list(passed), list(group), [(k, list(g)) for k, g in walk]

    values = [1, 2, 11, 12, 13, 25, 31, 32]
    expected = text(f(X, values))
    optimized = minidynamo.optimize("eager")(f)
    assert [text(optimized(X, values)) for _ in range(2)] == [expected] * 2
    assert not minidynamo.debug.uncaptured()


def test_one_that_holds_what_holds_it() -> None:
    def f(x: torch.Tensor) -> Any:
        held: list[Any] = [1, 2]
        walk = itertools.chain(held, [held])
        held.append(walk)
        taken = next(walk)
        y = x + 1
        minidynamo.graph_break()
        rest = list(walk)
        return y * 2, taken, rest[0], rest[1] is walk, rest[2] is held

    expected = text(f(X))
    optimized = minidynamo.optimize("eager")(f)
    assert [text(optimized(X)) for _ in range(2)] == [expected] * 2


def test_a_result_that_the_program_keeps_does_not_change() -> None:
    def f(x: torch.Tensor) -> Any:
        walks = [itertools.product("ab", repeat=2), itertools.combinations("abc", 2), itertools.permutations("abc", 2)]
        kept = [next(walk) for walk in walks]
        y = x + 1
        minidynamo.graph_break()
        after = [next(walk) for walk in walks]
        return y * 2, kept, after

    expected = text(f(X))
    optimized = minidynamo.optimize("eager")(f)
    assert [text(optimized(X)) for _ in range(2)] == [expected] * 2
