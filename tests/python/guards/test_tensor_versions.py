"""How often a tensor was written to (`_version`), and weak references to tensors, asked inside of a captured function."""

import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import minidynamo

BACKENDS = ["eager", "aot_eager"]
Function = Callable[..., Any]
WEIGHT = torch.nn.Parameter(torch.ones(4))


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    minidynamo.reset()
    yield


def made_inside(x: torch.Tensor) -> Any:
    y = x + 1
    before = y._version
    y.add_(1)
    y[0] = 5
    return y * (y._version - before), before, y._version, torch.rand(3)._version, torch.zeros(3)._version


def of_views(x: torch.Tensor) -> Any:
    y = x + 1
    view, apart, data = y[1:], y.detach(), y.data
    view.add_(1)
    return y * 2, y._version, view._version, apart._version, data._version


def of_an_input(x: torch.Tensor) -> Any:
    before = x._version
    x.add_(1)
    return x * 2, before, x._version


def referred_to(x: torch.Tensor) -> Any:
    link = weakref.ref(x)
    return link() * 2, link() is x


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", [made_inside, of_views, of_an_input, referred_to], ids=lambda function: function.__name__)
def test_one_graph(function: Function, backend: str) -> None:
    captured = minidynamo.compile(function, backend=backend, fullgraph=True)
    for _ in range(2):
        actual, expected = captured(torch.ones(4)), function(torch.ones(4))
        torch.testing.assert_close(actual[0], expected[0])
        assert actual[1:] == expected[1:]
    assert len(minidynamo.debug.cache_entries(captured)) == 1


def test_written_before() -> None:
    """A tensor that was written to before the call has another number, which a guard sees."""
    captured = minidynamo.compile(of_an_input, backend="eager", fullgraph=True)
    for writes in (0, 2, 2):
        x, y = torch.ones(4), torch.ones(4)
        for _ in range(writes):
            x.mul_(2), y.mul_(2)
        assert captured(x)[1:] == of_an_input(y)[1:]
    assert len(minidynamo.debug.cache_entries(captured)) == 2


def test_parameter() -> None:
    """Optimizers write to parameters between calls: an entry for each number would be no use."""

    def of_a_parameter(x: torch.Tensor) -> Any:
        return x * WEIGHT, WEIGHT._version

    captured = minidynamo.compile(of_a_parameter, backend="eager")
    for _ in range(4):
        with torch.no_grad():
            WEIGHT.add_(1)
        assert captured(torch.ones(4))[1] == WEIGHT._version
    assert len(minidynamo.debug.cache_entries(captured)) == 1


def test_shared_memory() -> None:
    def of_two(x: torch.Tensor, y: torch.Tensor) -> Any:
        x.add_(1)
        return y * 2, x._version, y._version

    captured = minidynamo.compile(of_two, backend="eager")
    for _ in range(2):
        base, other = torch.ones(8), torch.ones(8)
        actual, expected = captured(base[:4], base[2:6]), of_two(other[:4], other[2:6])
        torch.testing.assert_close(actual[0], expected[0])
        assert actual[1:] == expected[1:]


@pytest.mark.parametrize("backend", BACKENDS)
def test_reference_that_leaves(backend: str) -> None:
    def gives(x: torch.Tensor) -> Any:
        return x + 1, weakref.ref(x)

    captured = minidynamo.compile(gives, backend=backend, fullgraph=True)
    for _ in range(2):
        x = torch.ones(4)
        assert captured(x)[1]() is x


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_write_through_data_is_not_counted(backend: str) -> None:
    """An outside loss whose graph has saved the parameter can be differentiated behind such a step."""

    def step(w: torch.nn.Parameter, x: torch.Tensor) -> torch.Tensor:
        loss = (w * x).sum()
        loss.backward()  # type: ignore[no-untyped-call]
        w.data.mul_(0.5)
        return loss.detach()

    results = []
    for function in (step, minidynamo.compile(step, backend=backend, fullgraph=True)):
        w = torch.nn.Parameter(torch.ones(2))
        seen: list[Any] = []
        for _ in range(3):
            outside = (w * w).sum()
            loss = function(w, torch.ones(2))
            outside.backward()  # type: ignore[no-untyped-call]
            assert w.grad is not None
            seen.append((loss.item(), w.grad.tolist(), w.tolist(), w._version))
        results.append(seen)
    assert results[1] == results[0]


@pytest.mark.parametrize("backend", BACKENDS)
def test_writes_are_counted_as_the_program_makes_them(backend: str) -> None:
    def writes(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        x.mul_(2)
        x[0] = 3
        y.data.add_(1)
        return x + 1

    captured = minidynamo.compile(writes, backend=backend, fullgraph=True)
    for _ in range(2):
        counts = []
        for function in (writes, captured):
            x, y = torch.ones(2), torch.ones(2)
            function(x, y)
            counts.append((x._version, y._version))
        assert counts[1] == counts[0]


def test_a_reference_to_a_tensor_that_is_gone() -> None:
    def asks(x: torch.Tensor) -> Any:
        b = x + 1
        r = weakref.ref(b)
        before = r() is b
        del b
        return before, r() is None, x * 2

    captured = minidynamo.compile(asks, backend="eager")
    for _ in range(2):
        assert captured(torch.ones(2))[:2] == (True, True)
