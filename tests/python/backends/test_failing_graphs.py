"""A graph that raises: the program's lines are in the traceback wherever the operator stood, and the thread's modes are as before."""

import pathlib
import traceback
from collections.abc import Callable
from typing import Any

import pytest
import torch

import minidynamo


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Dropout(0.5), torch.nn.Conv1d(2, 2, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x).relu_()


def in_library(block: Block, x: torch.Tensor) -> torch.Tensor:
    x.add_(1)
    return block(x) + 1


def in_place(block: Block, x: torch.Tensor) -> torch.Tensor:
    x.add_(1)
    x.add_(
        block.layers[1].weight,
    )
    return x


def pure(block: Block, x: torch.Tensor) -> torch.Tensor:
    return block.layers[1](x)


def modes() -> tuple[Any, ...]:
    return torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.is_autocast_enabled("cpu"), torch.is_autocast_cache_enabled()


def lines_of(call: Callable[..., Any], *args: Any) -> list[tuple[str, str]]:
    try:
        call(*args)
    except RuntimeError as error:
        own = (pathlib.Path(__file__).parent, pathlib.Path(torch.__file__).parent / "nn")
        return [
            (frame.name, frame.line or "")
            for frame in traceback.extract_tb(error.__traceback__)
            if any(pathlib.Path(frame.filename).is_relative_to(folder) for folder in own)
        ][1:]
    raise AssertionError("no error")


@pytest.mark.parametrize("function", [in_library, in_place, pure])
def test_lines(function: Callable[..., Any]) -> None:
    optimized = minidynamo.compile(function, backend="eager")
    optimized(Block(), torch.ones(2, 2, 1))
    doubles = Block().double()
    doubles.layers[1].weight.data = torch.ones(3, 2, 1, dtype=torch.float64)
    expected = lines_of(function, doubles, torch.ones(2, 2, 1))
    assert lines_of(optimized, doubles, torch.ones(2, 2, 1)) == expected and len(expected) > 0


def no_grad() -> Any:
    return torch.no_grad()


def autocast() -> Any:
    return torch.autocast("cpu", dtype=torch.bfloat16)


def inference() -> Any:
    return torch.inference_mode()


@pytest.mark.parametrize("writes", [False, True])
@pytest.mark.parametrize("breaks", [False, True])
@pytest.mark.parametrize("enter", [no_grad, autocast, inference])
def test_modes(enter: Callable[[], Any], breaks: bool, writes: bool) -> None:
    def f(x: torch.Tensor, w: torch.Tensor) -> Any:
        seen = []
        y = x + 1
        if writes:
            y.mul_(2)
        try:
            with enter():
                if breaks:
                    minidynamo.graph_break()
                seen.append(torch.nn.functional.conv1d(y, w))
        except RuntimeError:
            seen.append(modes())
        return seen, modes()

    optimized = minidynamo.compile(f, backend="eager")
    before = modes()
    x, w = torch.ones(1, 2, 1), torch.ones(2, 2, 1)
    optimized(x, w)
    assert modes() == before
    if writes and not breaks:  # it cannot be run again: docs/effects.md
        with pytest.raises(RuntimeError):
            optimized(x, w.double())
    else:
        assert optimized(x, w.double()) == f(x, w.double())
    assert modes() == before


def test_casts_that_autocast_keeps_outlive_a_capture() -> None:
    """A weight is cast once in an autocast, before and behind a graph break: its gradient is summed in bfloat16."""

    def f(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = x @ w
            minidynamo.graph_break()
            return (y @ w).float()

    torch.manual_seed(0)
    x, start = torch.randn(2, 2), torch.randn(2, 2)
    optimized = minidynamo.compile(f, backend="eager")
    gradients = []
    for call in (f, optimized, optimized):
        w = start.clone().requires_grad_()
        call(x, w).sum().backward()
        gradients.append(w.grad)
    assert torch.equal(gradients[0], gradients[1]) and torch.equal(gradients[0], gradients[2])


def test_a_resumed_frame_has_its_variables_when_its_graph_fails() -> None:
    """The variables that the residual code would have let go of behind the graph are there for the frame that runs in its place."""

    def f(x: torch.Tensor, index: Any) -> Any:
        minidynamo.graph_break()
        held = [index]
        try:
            y = x[index] + 1
            minidynamo.graph_break()
            y = y * 2
        except IndexError as error:
            y = f"{index.tolist()} {len(held)} {type(error).__name__}"
        index = x = held = None
        return y

    captured = minidynamo.compile(f, backend="eager")
    for numbers in ([0, 1], [2, 3], [7, 1], [1, 1], [9, 9]):
        index = torch.tensor(numbers)
        expected, got = f(torch.arange(4.0), index), captured(torch.arange(4.0), index)
        assert torch.equal(expected, got) if isinstance(expected, torch.Tensor) else expected == got


def _embedding(w: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.embedding(i, w)


def _cholesky(w: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
    return torch.linalg.cholesky(i * torch.eye(2)) + w.sum()


def _loss(w: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.cross_entropy(w[:1], i)


def _division(w: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
    return w.sum() + torch.tensor([4]) // (i - 9)


FAILING: dict[str, Callable[..., Any]] = {
    "embedding": _embedding,
    "cholesky": _cholesky,
    "loss": _loss,
    "division": _division,
    "gather": lambda w, i: w.clone().gather(0, i[None]),
}


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", FAILING)
def test_what_came_before_the_error_has_happened(name: str, backend: str) -> None:
    """Effects, writes to inputs and draws are those of the program up to the operator that raises, and no more."""
    fails = FAILING[name]

    def step(w: torch.Tensor, i: torch.Tensor, log: list[Any]) -> torch.Tensor:
        w.grad = None
        log.append("begun")
        with torch.no_grad():
            w.mul_(2)
            w.add_(torch.rand(4, 3))
        y = fails(w, i)
        log.append("done")
        with torch.no_grad():
            w.zero_()
        return y

    minidynamo.reset()
    captured = minidynamo.compile(step, backend=backend)
    bad = torch.tensor([-1.0] if name == "cholesky" else [9])
    good = torch.tensor([1.0] if name == "cholesky" else [1])
    for index in (good, bad, good):
        seen = []
        for function in (step, captured):
            torch.manual_seed(0)
            w = torch.nn.Parameter(torch.ones(4, 3))
            w.grad = torch.ones(4, 3)
            log: list[Any] = []
            try:
                result: Any = function(w, index, log).tolist()
            except Exception as error:
                result = type(error)
            seen.append((result, w.tolist(), w.grad, w._version, log, torch.rand(1).item()))
        assert seen[1] == seen[0]
        assert (seen[0][4] == ["begun"]) == (index is bad)


def test_a_frame_handles_the_error_of_its_graph() -> None:
    def step(w: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
        w.add_(1)
        try:
            return w[i]
        except IndexError:
            return w * 10

    captured = minidynamo.compile(step, backend="eager")
    for index in (torch.tensor(1), torch.tensor(9)):
        w, expected = torch.ones(3), torch.ones(3)
        assert torch.equal(captured(w, index), step(expected, index)) and torch.equal(w, expected)
