"""C code that compares what a container holds may do more than that: a comparison of a decimal number with a float changes the flags of
the thread's context, and raises where the context says so."""

import decimal
from collections.abc import Callable
from typing import Any

import pytest

import minidynamo

TEN = decimal.Decimal("10.0")

COMPARISONS: dict[str, Callable[[], Any]] = {
    "operator": lambda: TEN == 10.0,
    "set display": lambda: len({10.0, TEN}),
    "set of a list": lambda: len(set([10.0, TEN])),  # noqa: C405
    "set of made": lambda: len(set([10.0, decimal.Decimal("10.0")])),  # noqa: C405
    "in a list": lambda: 10.0 in [TEN, 1.0],
    "in a tuple": lambda: TEN in (10.0, 1.0),
    "in a dict": lambda: 10.0 in {TEN: 1},
    "dict display": lambda: {10.0: 1, TEN: 2},
    "get": lambda: {10.0: 1}.get(TEN),  # type: ignore[call-overload]
    "item": lambda: {TEN: 1}[10.0],  # type: ignore[index]
    "sorted": lambda: sorted([10.0, TEN]),  # type: ignore[type-var]
    "sort": lambda: [10.0, TEN].sort(),  # type: ignore[type-var]
    "max": lambda: max([10.0, TEN]),  # type: ignore[type-var]
    "min of made": lambda: min([10.0, decimal.Decimal("10.0")]),  # type: ignore[type-var]
    "equal lists": lambda: [TEN] == [10.0],
    "ordered tuples": lambda: (TEN,) > (10.0,),
    "equal dicts": lambda: {1: TEN} == {1: 10.0},
    "nested": lambda: [[1, (TEN,)]] == [[1, (10.0,)]],
    "index": lambda: [10.0].index(TEN),  # type: ignore[arg-type]
    "count": lambda: [10.0].count(decimal.Decimal("10.0")),  # type: ignore[arg-type]
    "remove": lambda: [10.0].remove(TEN),  # type: ignore[arg-type]
    "key of a tuple": lambda: {(10.0, 1): 2}.get((TEN, 1)),  # type: ignore[call-overload]
}


@pytest.mark.parametrize("name", COMPARISONS)
def test_flags_and_traps_of_the_context(name: str) -> None:
    eager = COMPARISONS[name]
    compiled = minidynamo.compile(eager, backend="eager")

    def outcomes(function: Callable[[], Any]) -> list[tuple[Any, bool]]:
        found: list[tuple[Any, bool]] = []
        for traps in (False, False, True, False):
            with decimal.localcontext(decimal.Context()) as context:
                context.traps[decimal.FloatOperation] = traps
                try:
                    result: Any = function()
                except decimal.FloatOperation as error:
                    result = type(error)
                found.append((result, context.flags[decimal.FloatOperation]))
        return found

    assert outcomes(compiled) == outcomes(eager)


def test_values_beside_a_key_may_be_anything() -> None:
    def f(number: Any) -> tuple[Any, Any, dict[str, Any]]:
        table: dict[str, Any] = {"one": 1}
        return table.get("two", number), table.setdefault("three", number), dict(table, four=number)

    compiled = minidynamo.compile(f, backend="eager")
    for number in (TEN, decimal.Decimal(3), 0.25, 0.5, 0.75, 0.125):
        assert compiled(number) == f(number)


@pytest.mark.parametrize(
    "use", [lambda a: [a] == [0.5], lambda a: 0.5 in (a,), lambda a: max([0.25, a]), lambda a: {(a, 1): 2}.get((0.5, 1))]
)
def test_floats_that_change_are_compared_by_their_values(use: Callable[[float], Any]) -> None:
    compiled = minidynamo.compile(use, backend="eager")
    for number in (0.25, 0.5, 0.75, 0.5, 0.125, 0.25):
        assert compiled(number) == use(number)
