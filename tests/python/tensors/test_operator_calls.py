"""Calls of operators that a graph cannot hold as they are written, or that look at values only to check them."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import minidynamo

BACKENDS = ["eager", "aot_eager"]


def positive() -> torch.Tensor:
    return torch.arange(1.0, 13.0).reshape(3, 4)


def quantile(x: torch.Tensor) -> Any:
    return torch.quantile(x, 0.5), torch.quantile(x, torch.tensor([0.2, 0.9]), dim=1), torch.nanquantile(x, 0.3, dim=0)


def masked(x: torch.Tensor) -> Any:
    mask = x > 4
    return torch.masked.mean(x, 1, mask=mask), torch.masked.softmax(x, 0, mask=mask), torch.masked.amax(x, 1, mask=mask)


DISTANCE = torch.nn.PairwiseDistance()


def distance_of_its_own(x: torch.Tensor) -> Any:
    return F.triplet_margin_with_distance_loss(x, x + 1, x * 2, distance_function=DISTANCE)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", [quantile, masked, distance_of_its_own])
def test_one_graph(function: Callable[..., Any], backend: str) -> None:
    compiled = minidynamo.optimize(backend, fullgraph=True)(function)
    for x in (positive(), positive() + 1, positive()[:, :3].contiguous()):
        torch.testing.assert_close(compiled(x), function(x), equal_nan=True)
    assert minidynamo.stats()["entries"] == 2


@pytest.mark.parametrize("function", [quantile, masked, distance_of_its_own])
def test_gradients(function: Callable[..., Any]) -> None:
    def total(x: torch.Tensor) -> torch.Tensor:
        results = function(x)
        return sum(result.sum() for result in (results if isinstance(results, tuple) else (results,)))  # type: ignore[return-value]

    compiled = minidynamo.optimize("eager", fullgraph=True)(total)
    mine, theirs = positive().requires_grad_(), positive().requires_grad_()
    compiled(mine).backward()
    total(theirs).backward()
    torch.testing.assert_close(mine.grad, theirs.grad)


@pytest.mark.parametrize("q", [2.0, [0.1, 1.5]])
def test_a_check_of_values_is_made_when_the_graph_runs(q: Any) -> None:
    def f(x: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
        return torch.quantile(x * 2, q)

    compiled = minidynamo.optimize("eager", fullgraph=True)(f)
    torch.testing.assert_close(compiled(positive(), torch.tensor(q) / 10), f(positive(), torch.tensor(q) / 10))
    with pytest.raises(RuntimeError, match=r"in the range \[0, 1\]"):
        compiled(positive(), torch.tensor(q))
    torch.testing.assert_close(compiled(positive(), torch.tensor(q) / 10), f(positive(), torch.tensor(q) / 10))


def test_a_class_of_an_autograd_function_that_is_applied_runs_in_python() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, value: torch.Tensor) -> torch.Tensor:
                return value * 2

            @staticmethod
            def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
                return gradient * 3

        result: torch.Tensor = Double.apply(x * 5)  # type: ignore[no-untyped-call]
        return result + 1

    mine, theirs = positive().requires_grad_(), positive().requires_grad_()
    compiled = minidynamo.optimize("eager")(f)
    for _ in range(2):
        actual, expected = compiled(mine), f(theirs)
        torch.testing.assert_close(actual, expected)
        actual.sum().backward()
        expected.sum().backward()
        torch.testing.assert_close(mine.grad, theirs.grad)


def test_the_class_of_an_autograd_function_is_asked_for_what_a_trace_does_not_know() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        class Nothing(torch.autograd.Function):
            pass

        return x + len(Nothing._backward_cls.__name__)

    compiled = minidynamo.optimize("eager")(f)
    for _ in range(2):
        torch.testing.assert_close(compiled(positive()), f(positive()))
