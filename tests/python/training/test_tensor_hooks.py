"""Hooks on the gradients of tensors, put there by a captured function: one graph, and eager's gradients and effects."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import minidynamo

BACKENDS = ["eager", "aot_eager"]
Function = Callable[[torch.Tensor, torch.Tensor], Any]
SEEN: list[float] = []
FACTOR = 5.0


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    minidynamo.reset()
    SEEN.clear()
    yield


def scales(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    y = x * w
    y.register_hook(lambda gradient: gradient * 3)
    return (y * y).sum()


def uses_tensors(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    mask, scale = (x > 1).float(), 2

    def hook(gradient: torch.Tensor, add: float = 0.5) -> torch.Tensor:
        low, high = gradient.chunk(2)
        return torch.cat([low * scale, high + add]) * mask

    y = torch.sin(x * w)
    y.register_hook(hook)
    return (y * 2).sum()


def module_function(gradient: torch.Tensor) -> torch.Tensor:
    return gradient.clamp(-0.5, 0.5) * FACTOR


def uses_globals(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    y = x * w
    y.register_hook(module_function)
    return y, (y * 2).sum()


def two_hooks(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    y = x * w
    y.register_hook(lambda gradient: gradient + 1)
    y.register_hook(lambda gradient: gradient * 2)
    y.register_hook(lambda gradient: gradient)
    y.register_hook(lambda gradient: None)
    return y.sum()


def on_a_leaf(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    factor = 3
    handle = w.register_hook(lambda gradient: gradient * factor)  # noqa: F841
    return (x * w).sum()


def of_effects_on_a_leaf(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    w.register_hook(lambda gradient: SEEN.append(gradient.sum().item()))
    return (x * w).sum()


ONE_GRAPH = [scales, uses_tensors, uses_globals, two_hooks, on_a_leaf, of_effects_on_a_leaf]


def of_effects(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    y = x * w
    y.register_hook(lambda gradient: SEEN.append(gradient.sum().item()))
    return (y * y).sum()


def keeps(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, list[Any]]:
    y, kept = x * w, []
    y.register_hook(kept.append)
    return (y * y).sum(), kept


def appends(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, list[Any]]:
    y, kept = x * w, []
    y.register_hook(lambda gradient: kept.append(gradient))
    return (y * y).sum(), kept


def taken_back(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    y = x * w
    handle = y.register_hook(lambda gradient: gradient * 3)
    handle.remove()
    return (y * y).sum()


def depends_on_values(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    y = x * w
    y.register_hook(lambda gradient: gradient * 2 if gradient.sum() > 0 else gradient)
    return (y * y).sum()


def raises(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    y = x.detach() * 2
    try:
        y.register_hook(lambda gradient: gradient * 2)
    except RuntimeError:
        return (x * w).sum() * 2
    return (x * w).sum()


BROKEN = [of_effects, keeps, appends, taken_back, depends_on_values, raises]


def outcome(function: Function, scale: float) -> Any:
    x = torch.arange(1.0, 5.0).mul_(scale).requires_grad_()
    w = torch.full((4,), 0.5, requires_grad=True)
    SEEN.clear()
    result = function(x, w)
    losses = [item for item in (result if isinstance(result, tuple) else (result,)) if isinstance(item, torch.Tensor)]
    sum(loss.sum() for loss in losses).backward()
    kept = [item for item in (result if isinstance(result, tuple) else ()) if isinstance(item, list)]
    return [loss.detach() for loss in losses], x.grad, w.grad, list(SEEN), kept


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", ONE_GRAPH, ids=lambda function: function.__name__)
def test_one_graph(function: Function, backend: str) -> None:
    captured = minidynamo.compile(function, backend=backend, fullgraph=True)
    for scale in (1.0, 1.0, 3.0):
        torch.testing.assert_close(outcome(captured, scale), outcome(function, scale))
    assert len(minidynamo.debug.cache_entries(captured)) == 1


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", BROKEN, ids=lambda function: function.__name__)
def test_in_python(function: Function, backend: str) -> None:
    captured = minidynamo.compile(function, backend=backend)
    for scale in (1.0, 1.0, 3.0):
        torch.testing.assert_close(outcome(captured, scale), outcome(function, scale))


def test_inductor() -> None:
    captured = minidynamo.compile(scales, fullgraph=True)
    for scale in (1.0, 3.0):
        torch.testing.assert_close(outcome(captured, scale), outcome(scales, scale))


def test_changed_global(monkeypatch: pytest.MonkeyPatch) -> None:
    captured = minidynamo.compile(uses_globals, backend="aot_eager", fullgraph=True)
    for factor in (5.0, 7.0):
        monkeypatch.setattr(f"{__name__}.FACTOR", factor)
        torch.testing.assert_close(outcome(captured, 1.0), outcome(uses_globals, 1.0))
