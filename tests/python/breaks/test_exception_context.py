"""The context of a captured function's exceptions, which its caller was handling: another one at each call, or none."""

import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch

import minidynamo

Entry = Callable[..., Any]


class Mine(Exception):
    pass


def goes_on(x: torch.Tensor, kept: list[BaseException]) -> torch.Tensor:
    try:
        [].pop()
    except IndexError as error:
        kept.append(error)
    return x + 1


def breaks(x: torch.Tensor, kept: list[BaseException]) -> torch.Tensor:
    try:
        [].pop()
    except IndexError as error:
        minidynamo.graph_break()
        raise ValueError("from") from error
    return x


def raises_while_handling(x: torch.Tensor, kept: list[BaseException]) -> torch.Tensor:
    try:
        try:
            {}["a"]
        finally:
            minidynamo.graph_break()
            [].pop()
    except IndexError as error:
        kept.append(error)
    return x * 2


def reads(x: torch.Tensor, kept: list[BaseException]) -> torch.Tensor:
    try:
        [].pop()
    except IndexError as error:
        return x + (len(error.__context__.args[0]) if error.__context__ else 0)
    return x


def reads_of_own_class(x: torch.Tensor, kept: list[BaseException]) -> torch.Tensor:
    try:
        raise Mine
    except Mine as error:
        return x + (len(error.__context__.args[0]) if error.__context__ else 0)


def asks_for_handled(x: torch.Tensor, kept: list[BaseException]) -> torch.Tensor:
    handled = sys.exc_info()[1]
    return x + (len(handled.args[0]) if handled else 0)


def text_of(error: BaseException | None) -> list[str]:
    return [] if error is None else [repr(error), *text_of(error.__context__)]


def seen(function: Entry, text: str) -> list[object]:
    """The results, errors and kept objects of a call, while a KeyError with a text is handled (none if it is empty)."""
    kept: list[BaseException] = []

    def call() -> object:
        try:
            return function(torch.ones(1), kept).tolist()
        except ValueError as error:
            return [text_of(error), text_of(error.__cause__)]

    if text:
        try:
            raise KeyError(text)
        except KeyError as handled:
            result = call()
            same = [error.__context__ is handled for error in kept]
    else:
        result, same = call(), []
    return [result, [text_of(error) for error in kept], same]


@pytest.mark.parametrize(
    "function", [goes_on, breaks, raises_while_handling, reads, reads_of_own_class, asks_for_handled], ids=lambda f: f.__name__
)
@pytest.mark.parametrize("order", [["", "abc", "de", ""], ["abc", "", "de"]], ids=["none first", "one first"])
def test_context_is_what_the_caller_handles(function: Entry, order: list[str]) -> None:
    captured = minidynamo.optimize("eager")(function)
    assert [seen(captured, text) for text in order] == [seen(function, text) for text in order]
