"""torch.amp.GradScaler in captured training steps: one graph, also where a step of the optimizer is left out."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn

import minidynamo


class Counting(torch.optim.SGD):
    """A user's optimizer that counts in a tensor of its own."""

    def __init__(self, parameters: Any) -> None:
        super().__init__(parameters, lr=0.1)
        self.total = torch.zeros(())

    def step(self, closure: Any = None) -> Any:  # type: ignore[override]
        self.total += 1
        return super().step(closure)


class Noting(torch.optim.SGD):
    """A user's optimizer whose steps do something in Python."""

    def __init__(self, parameters: Any) -> None:
        super().__init__(parameters, lr=0.1)
        self.steps = 0

    def step(self, closure: Any = None) -> Any:  # type: ignore[override]
        self.steps += 1
        return super().step(closure)


OPTIMIZERS: dict[str, Callable[[Iterator[nn.Parameter]], torch.optim.Optimizer]] = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.1),
    "momentum": lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9),
    "adamw": lambda parameters: torch.optim.AdamW(parameters, lr=1e-2),
    "fused": lambda parameters: torch.optim.AdamW(parameters, lr=1e-2, fused=True),
    "rmsprop": lambda parameters: torch.optim.RMSprop(parameters, lr=1e-2),
}


def train(make: Callable[..., Any], capture: Callable[[Any], Any], schedule: bool, clip: bool) -> list[Any]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    optimizer = make(model.parameters())
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**16, growth_interval=3)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 4) if schedule else None

    def step(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            loss = nn.functional.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        if clip:
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        return loss.detach()

    captured, seen = capture(step), []
    torch.manual_seed(1)
    for i in range(10):
        x = torch.randn(6, 8) * (1e38 if i in (0, 4, 7) else 1)  # whose gradients are infinite
        seen += [captured(x, torch.randint(0, 4, (6,))).item(), scaler.get_scale(), scaler._growth_tracker.item()]
        if scheduler is not None:
            scheduler.step()
    tensors = [*model.parameters(), *(value for state in optimizer.state.values() for value in state.values())]
    own = [getattr(optimizer, "total", 0), getattr(optimizer, "steps", 0)]
    return [repr(value) for value in [*seen, *own, *(tensor.tolist() for tensor in tensors)]]


@pytest.mark.filterwarnings("ignore:Detected call of")
@pytest.mark.parametrize("clip", [False, True])
@pytest.mark.parametrize("schedule", [False, True])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_that_are_left_out(name: str, schedule: bool, clip: bool) -> None:
    expected = train(OPTIMIZERS[name], lambda step: step, schedule, clip)
    minidynamo.reset()
    steps: list[Any] = []

    def capture(step: Any) -> Any:
        steps.append(minidynamo.optimize("eager")(step))
        return steps[0]

    assert train(OPTIMIZERS[name], capture, schedule, clip) == expected
    # One before there is a state, one after, and with a schedule one for rates that change.
    entries = minidynamo.debug.cache_entries(steps[0])
    assert len(entries) <= 4
    assert minidynamo.stats()["graph_breaks"].get("scalar-read", 0) <= 2  # while there is no state


@pytest.mark.parametrize("make", [Counting, Noting])
def test_steps_that_do_more(make: Any) -> None:
    expected = train(make, lambda step: step, False, True)
    minidynamo.reset()
    assert train(make, minidynamo.optimize("eager"), False, True) == expected


def test_a_compiler() -> None:
    expected = train(OPTIMIZERS["adamw"], lambda step: step, False, True)
    minidynamo.reset()
    assert train(OPTIMIZERS["adamw"], minidynamo.optimize("aot_eager"), False, True) == expected
