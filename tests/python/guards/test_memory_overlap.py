"""Operators that write to memory that another of their arguments shows, but not element by element."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

import minidynamo

Function = Callable[[torch.Tensor], Any]
BACKENDS = ["eager", "aot_eager"]


def in_place(x: torch.Tensor) -> Any:
    x[1:].add_(x[:-1])
    return x * 2


def by_out(x: torch.Tensor) -> Any:
    torch.add(x[:-1], 1, out=x[1:])
    return x * 2


def by_copy(x: torch.Tensor) -> Any:
    x[1:].copy_(x[:-1])
    return x * 2


def across_lists(x: torch.Tensor) -> Any:
    torch._foreach_add_([x[1:]], [x[:-1]])
    return x * 2


def within_a_list(x: torch.Tensor) -> Any:
    torch._foreach_mul_([x[1:], x[:-1]], 2)
    return x * 2


def twice_in_a_list(x: torch.Tensor) -> Any:
    torch._foreach_add_([x, x], 1)
    return x * 2


def one_of_another_list(x: torch.Tensor) -> Any:
    y = x + 1
    torch._foreach_add_([x, y], [y, x])
    return x, y


def by_out_of_a_list(x: torch.Tensor) -> Any:
    torch.cat([x[:2], x[:2]], out=x[:4])
    return x * 2


def with_gaps(x: torch.Tensor) -> Any:
    square = x.view(2, 2)
    square[:, 1].sub_(square[1])
    return x * 2


def of_other_element_sizes(x: torch.Tensor) -> Any:
    x.view(torch.int16)[::4].copy_(x[::2])
    return x * 2


def overlapping_itself(x: torch.Tensor) -> Any:
    x.as_strided((2, 2), (1, 1)).add_(1)
    return x * 2


OVERLAPPING = [
    in_place,
    by_out,
    by_copy,
    across_lists,
    within_a_list,
    twice_in_a_list,
    one_of_another_list,
    by_out_of_a_list,
    with_gaps,
    of_other_element_sizes,
    overlapping_itself,
]


def outcome(function: Function) -> Any:
    x = torch.arange(4.0)
    try:
        return function(x), x
    except RuntimeError as error:
        return str(error).split("(")[0], x


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", OVERLAPPING, ids=lambda f: f.__name__)
def test_as_eagerly(function: Function, backend: str) -> None:
    minidynamo.reset()
    expected = outcome(function)
    captured = minidynamo.compile(function, backend=backend)
    for _ in range(2):
        torch.testing.assert_close(outcome(captured), expected) if torch.is_tensor(expected[0]) else None
        got = outcome(captured)
        assert repr(got) == repr(expected)
    reasons = {each.reason for each in minidynamo.debug.graph_breaks()}
    assert reasons == {"memory-overlap"}


def element_by_element(x: torch.Tensor) -> Any:
    x.add_(x)
    torch.add(x, 1, out=x)
    torch._foreach_add_([x], [x])
    x[:2].add_(x[2:])
    torch._foreach_mul_([x[:2], x[2:]], [x[:2], x[2:]])
    x[::2].add_(x[1::2])
    x.view(2, 2)[:, 0].add_(x.view(2, 2)[:, 1])
    x[::2].add_(x.view(torch.int16)[2:4])
    x.as_strided((2, 1), (3, 1)).add_(1)
    return x * 2


def advice(x: torch.Tensor) -> Any:
    x[1:].add_(x[:-1].clone())
    torch._foreach_add_([x], 1)
    return x * 2


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", [element_by_element, advice], ids=lambda f: f.__name__)
def test_what_shares_no_part_is_one_graph(function: Function, backend: str) -> None:
    minidynamo.reset()
    captured = minidynamo.compile(function, backend=backend, fullgraph=True)
    for _ in range(2):
        torch.testing.assert_close(outcome(captured), outcome(function))


@pytest.mark.parametrize("backend", BACKENDS)
def test_views_that_are_given(backend: str) -> None:
    """Each is a tensor of its own to the trace."""
    minidynamo.reset()

    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        y.add_(x)
        return y * 2

    captured = minidynamo.compile(function, backend=backend)
    for stop in (4, 3, 4):
        base = torch.arange(6.0)
        if stop == 3:
            torch.testing.assert_close(captured(base[:3], base[3:]), torch.tensor([3.0, 5.0, 7.0]) * 2)
            continue
        with pytest.raises(RuntimeError, match="refer to a single memory location"):
            captured(base[:4], base[2:])
        assert torch.equal(base, torch.arange(6.0))


def test_the_reason_of_tensors_that_share_a_storage() -> None:
    """They are no views of one tensor: a compiled graph cannot know how they lie."""
    minidynamo.reset()

    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        return y * 2

    base = torch.arange(6.0)
    captured = minidynamo.compile(function, backend="aot_eager", fullgraph=True)
    with pytest.raises(minidynamo.Unsupported, match=r"memory-overlap(.|\n)*contiguous copy"):
        captured(base.detach()[:4], base.detach()[2:])
