"""Steps of optimizers, with clipping and zero_grad(), as one graph: parameters, gradients, state and versions as eager leaves them."""

import copy
import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import minidynamo

STEPS = 10


class Lion(torch.optim.Optimizer):
    """A user's own optimizer."""

    def __init__(self, params: Any, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.99), weight_decay: float = 0.0) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                p.mul_(1 - group["lr"] * group["weight_decay"])
                state = self.state[p]
                if not state:
                    state["exp_avg"] = torch.zeros_like(p)
                average = state["exp_avg"]
                p.add_((average * beta1 + p.grad * (1 - beta1)).sign_(), alpha=-group["lr"])
                average.lerp_(p.grad, 1 - beta2)


FORMS: tuple[dict[str, Any], ...] = ({}, {"foreach": True}, {"foreach": False})
FUSED: dict[str, Any] = {"fused": True}
OPTIMIZERS: dict[str, tuple[type[torch.optim.Optimizer], dict[str, Any], tuple[dict[str, Any], ...]]] = {
    "SGD": (torch.optim.SGD, {"lr": 0.1}, (*FORMS, FUSED)),
    "SGD maximize": (torch.optim.SGD, {"lr": 0.1, "maximize": True, "weight_decay": 0.1}, (*FORMS, FUSED)),
    "momentum": (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "dampening": 0.1}, (*FORMS, FUSED)),
    "Nesterov": (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}, (*FORMS, FUSED)),
    "Adam": (torch.optim.Adam, {}, (*FORMS, FUSED)),
    "Adam amsgrad": (torch.optim.Adam, {"amsgrad": True, "weight_decay": 0.1, "maximize": True}, (*FORMS, FUSED)),
    "AdamW": (torch.optim.AdamW, {}, (*FORMS, FUSED)),
    "Adagrad": (torch.optim.Adagrad, {"lr_decay": 0.1}, (*FORMS, FUSED)),
    "RMSprop": (torch.optim.RMSprop, {}, FORMS),
    "RMSprop centered": (torch.optim.RMSprop, {"momentum": 0.9, "centered": True, "weight_decay": 0.1}, FORMS),
    "NAdam": (torch.optim.NAdam, {}, FORMS),
    "NAdam decoupled": (torch.optim.NAdam, {"weight_decay": 0.1, "decoupled_weight_decay": True}, FORMS),
    "Adamax": (torch.optim.Adamax, {}, FORMS),
    "Adadelta": (torch.optim.Adadelta, {}, FORMS),
    "Rprop": (torch.optim.Rprop, {}, FORMS),
    "Lion": (Lion, {"weight_decay": 0.1}, ({},)),
}
CASES = [pytest.param(name, form, id=f"{name}-{form}") for name, (_, _, forms) in OPTIMIZERS.items() for form in forms]


def make_parameters() -> list[nn.Parameter]:
    torch.manual_seed(0)
    shapes: list[tuple[int, ...]] = [(4, 5), (37,), (3, 2, 2), (1,)]
    return [nn.Parameter(torch.randn(shape)) for shape in shapes] + [nn.Parameter(torch.randn(3, 4).t())]


def give_gradients(parameters: list[nn.Parameter], step: int) -> None:
    torch.manual_seed(100 + step)
    for parameter in parameters:
        if parameter.requires_grad:
            grad = torch.randn_like(parameter)
            parameter.grad = grad if parameter.grad is None else parameter.grad + grad


def described(value: Any) -> Any:
    """All that can be seen of tensors, to be compared by ==."""
    if isinstance(value, torch.Tensor):
        return (type(value), value.dtype, value.shape, value.stride(), value.requires_grad, value.detach().clone().reshape(-1).tolist())
    if isinstance(value, dict):
        return {key: described(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [described(item) for item in value]
    return value


@dataclasses.dataclass
class Run:
    parameters: list[nn.Parameter]
    optimizer: torch.optim.Optimizer
    step: Callable[[], Any]
    original: Callable[[], Any]
    seen: list[Any] = dataclasses.field(default_factory=list)

    def note(self, result: Any = None) -> None:
        state = [(type(key), list(values), described(values)) for key, values in self.optimizer.state.items()]
        order = [next(i for i, p in enumerate(self.parameters) if p is key) for key in self.optimizer.state]
        self.seen.append(
            (
                described(self.parameters),
                [p._version for p in self.parameters],
                [None if p.grad is None else (described(p.grad), p.grad._version) for p in self.parameters],
                described(self.optimizer.state_dict()),
                state,
                order,
                [[type(v) for v in values.values()] for values in self.optimizer.state.values()],
                described(result),
            )
        )


MakeStep = Callable[[list[nn.Parameter], torch.optim.Optimizer], Callable[[], Any]]


def run(make: Callable[[list[nn.Parameter]], torch.optim.Optimizer], make_step: MakeStep, change: Any, backend: str | None) -> Run:
    minidynamo.reset()
    parameters = make_parameters()
    optimizer = make(parameters)
    step = make_step(parameters, optimizer)
    captured = minidynamo.optimize(backend)(step) if backend else step
    made = Run(parameters, optimizer, captured, step)
    for number in range(STEPS):
        give_gradients(made.parameters, number)
        if change:
            change(made, number)
        made.note(captured())
    return made


def compare(
    make: Callable[[list[nn.Parameter]], torch.optim.Optimizer],
    make_step: MakeStep,
    change: Any = None,
    entries: int | None = 2,
    backend: str = "eager",
) -> None:
    expected = run(make, make_step, change, None)
    got = run(make, make_step, change, backend)
    for number, (one, other) in enumerate(zip(expected.seen, got.seen, strict=True)):
        assert one == other, f"step {number}"
    if entries is not None:
        assert not minidynamo.debug.graph_breaks() and not minidynamo.debug.uncaptured()
        assert len(minidynamo.debug.cache_entries(got.original)) <= entries


def plain_step(parameters: list[nn.Parameter], optimizer: torch.optim.Optimizer) -> Callable[[], Any]:
    def step() -> None:
        optimizer.step()

    return step


def maker(name: str, form: dict[str, Any]) -> Callable[[list[nn.Parameter]], torch.optim.Optimizer]:
    cls, options, _ = OPTIMIZERS[name]
    return lambda parameters: cls(parameters, **options, **form)


@pytest.mark.parametrize(("name", "form"), CASES)
def test_step(name: str, form: dict[str, Any]) -> None:
    compare(maker(name, form), plain_step)


CLIPS: dict[str, Callable[[list[nn.Parameter]], Any]] = {
    "norm": lambda parameters: nn.utils.clip_grad_norm_(parameters, 0.5),
    "norm inf": lambda parameters: nn.utils.clip_grad_norm_(parameters, 0.5, norm_type=float("inf"), foreach=False),
    "value": lambda parameters: nn.utils.clip_grad_value_(parameters, 0.3),
    "value loop": lambda parameters: nn.utils.clip_grad_value_(parameters, 0.3, foreach=False),
    "none": lambda parameters: None,
}
SOME = [
    pytest.param(name, form, id=f"{name}-{form}")
    for name, form in (("momentum", {}), ("AdamW", {"foreach": True}), ("Adam", FUSED), ("Lion", {}))
]


@pytest.mark.parametrize("zero", ["first", "last", "last zeros", "outside", "outside zeros"])
@pytest.mark.parametrize("clip", CLIPS)
@pytest.mark.parametrize(("name", "form"), SOME)
def test_clipping_and_zeroing(name: str, form: dict[str, Any], clip: str, zero: str) -> None:
    def make_step(parameters: list[nn.Parameter], optimizer: torch.optim.Optimizer) -> Callable[[], Any]:
        gradients = [torch.randn_like(p) for p in parameters]

        def step() -> Any:
            if zero == "first":
                optimizer.zero_grad()
                for parameter, gradient in zip(parameters, gradients, strict=True):
                    parameter.grad = gradient * 2
            norm = CLIPS[clip](parameters)
            optimizer.step()
            if zero.startswith("last"):
                optimizer.zero_grad(set_to_none=zero == "last")
            return norm

        return step

    def change(made: Run, number: int) -> None:
        if zero.startswith("outside") and number:
            made.optimizer.zero_grad(set_to_none=zero == "outside")
            give_gradients(made.parameters, number)

    compare(maker(name, form), make_step, change)
