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
