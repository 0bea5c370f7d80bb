"""Checks that a function of one tensor is one graph, and returns what it returns eagerly."""

from collections.abc import Callable
from typing import Any

import torch

import minidynamo


def first(result: Any) -> torch.Tensor:
    """The tensor of a result, which has other objects behind it in a tuple."""
    return result[0] if isinstance(result, tuple) else result


def check_one_graph(function: Callable[[torch.Tensor], Any], backend: str) -> None:
    """Compares three calls, two of them with equal values, in results and gradients; one entry serves all."""
    captured = minidynamo.compile(function, backend=backend, fullgraph=True)
    for scale in (1.0, 1.0, 3.0):
        got, wanted = torch.full((4,), scale, requires_grad=True), torch.full((4,), scale, requires_grad=True)
        actual, expected = captured(got), function(wanted)
        torch.testing.assert_close(first(actual), first(expected))
        if isinstance(expected, tuple):
            assert actual[1:] == expected[1:]
        for result in (actual, expected):
            first(result).sum().backward()
        torch.testing.assert_close(got.grad, wanted.grad)
    assert len(minidynamo.debug.cache_entries(captured)) == 1
