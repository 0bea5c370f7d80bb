"""torch.manual_seed inside of a captured function."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

import minidynamo

Function = Callable[..., Any]


def seeded(x: torch.Tensor) -> torch.Tensor:
    torch.manual_seed(3)
    return x + torch.rand(4)


def seeded_later(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    torch.manual_seed(5)
    return torch.nn.functional.dropout(y, 0.5)


def seeded_twice(x: torch.Tensor) -> torch.Tensor:
    torch.manual_seed(5)
    torch.random.manual_seed(6)
    return x + torch.randn(4)


def seeded_alone(x: torch.Tensor) -> torch.Tensor:
    torch.manual_seed(8)
    return x


def seeded_between(x: torch.Tensor) -> torch.Tensor:
    y = x + torch.rand(4)
    torch.manual_seed(5)
    return y * torch.rand(4)


def seeded_and_kept(x: torch.Tensor) -> Any:
    generator = torch.manual_seed(5)
    return x + torch.rand(4, generator=generator)


def outcomes(function: Function) -> Any:
    told = []
    torch.manual_seed(1)
    for scale in (1.0, 1.0, 2.0):
        x = torch.full((4,), scale, requires_grad=True)
        y = function(x)
        y.sum().backward()
        assert x.grad is not None
        told.append((y.tolist(), x.grad.tolist(), torch.rand(2).tolist()))
    return told


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("function", [seeded, seeded_later, seeded_twice, seeded_alone])
def test_one_graph(function: Function, backend: str) -> None:
    captured = minidynamo.compile(function, backend=backend, fullgraph=True)
    assert outcomes(captured) == outcomes(function)
    assert len(minidynamo.debug.cache_entries(captured)) == 1


def test_in_inductor() -> None:
    captured = minidynamo.compile(seeded, fullgraph=True)
    x = torch.ones(4)
    assert torch.equal(captured(x), captured(x))


@pytest.mark.parametrize("function", [seeded_between, seeded_and_kept])
def test_behind_what_the_graph_drew(function: Function) -> None:
    assert outcomes(minidynamo.compile(function, backend="eager")) == outcomes(function)
    minidynamo.reset()
    with pytest.raises(minidynamo.Unsupported):
        minidynamo.compile(function, backend="eager", fullgraph=True)(torch.ones(4))


def test_a_trace_seeds_nothing() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        torch.manual_seed(3)
        return torch.linalg.solve(x, x)

    torch.manual_seed(1)
    before = torch.get_rng_state()
    with pytest.raises(RuntimeError):
        minidynamo.compile(function, backend="eager", fullgraph=True)(torch.ones(3, 4))
    assert torch.equal(torch.get_rng_state(), before)
