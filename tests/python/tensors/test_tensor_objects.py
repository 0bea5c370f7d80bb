"""Tensors as Python objects: what programs put on them, and what they tell them to be."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import minidynamo

BACKENDS = ["eager", "aot_eager"]
Function = Callable[..., Any]


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    minidynamo.reset()
    yield


def described(value: Any) -> Any:
    """Values, gradients, what is put on tensors, and which tensors are one."""
    seen: dict[int, int] = {}

    def describe(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            if id(value) in seen:
                return f"tensor {seen[id(value)]}"
            seen[id(value)] = len(seen)
            own = {name: describe(item) for name, item in value.__dict__.items()}
            gradient = describe(value.grad) if value.is_leaf else None
            return value.tolist(), str(value.dtype), value.requires_grad, value.is_leaf, own, gradient
        if isinstance(value, (list, tuple)):
            return [describe(item) for item in value]
        return value

    return describe(value)


def weight() -> torch.nn.Parameter:
    parameter = torch.nn.Parameter(torch.arange(1.0, 5.0))
    parameter.grad = torch.ones(4)
    return parameter


def outcome(function: Function, x: torch.Tensor, p: torch.nn.Parameter) -> Any:
    try:
        result = function(x, p)
    except Exception as error:
        return type(error), str(error), described([x, p])
    return described([result, x, p])


def used_inside(x: torch.Tensor, p: torch.Tensor) -> torch.Tensor:
    y = x + 1
    y.tag = 5
    y.other = y.tag + 1
    return y * y.tag * y.other


def leaves(x: torch.Tensor, p: torch.Tensor) -> Any:
    y = x + 1
    y.tag = 5
    y.parts = [x * 2, y, "text"]
    y.next = x * 3
    y.next.tag = y
    return y.next


def taken_away(x: torch.Tensor, p: torch.Tensor) -> Any:
    y = x + 1
    y.tag = 5
    del y.tag
    try:
        return y.tag
    except AttributeError as error:
        return y, str(error)


def put_on_inputs(x: torch.Tensor, p: torch.Tensor) -> Any:
    p.calls = getattr(p, "calls", 0) + 1
    x.made_of = x * 2
    return next(t for t in (x, p) if hasattr(t, "made_of")).made_of + p.calls


def gradient_removed(x: torch.Tensor, p: torch.Tensor) -> Any:
    before = p.grad
    p.grad = None
    if p.grad is not None:
        return x
    return x * 2, before


def gradient_replaced(x: torch.Tensor, p: torch.Tensor) -> Any:
    p.grad = p.grad * 2 + x.sum()
    p.grad.add_(1)
    return p.grad * 2


def gradient_moved(x: torch.Tensor, p: torch.Tensor) -> Any:
    x.grad = p.grad
    p.grad = None
    return x + x.grad


def gradient_of_other_size(x: torch.Tensor, p: torch.Tensor) -> Any:
    p.grad = x[:2] * 1
    return x


def required_already(x: torch.Tensor, p: torch.Tensor) -> Any:
    y = x * p
    y.requires_grad_()
    p.requires_grad = True
    p.requires_grad_(True)
    z = (x * 2).requires_grad_(False)
    return y.requires_grad_(requires_grad=True) * z


def detached(x: torch.Tensor, p: torch.Tensor) -> Any:
    y = x * p
    z = y * 2
    y.detach_()
    return y + 1, z.sum(), y, (x + 1).detach_()


def kept_inside(x: torch.Tensor, p: torch.Tensor) -> Any:
    y = x * p
    y.retain_grad()
    p.retain_grad()
    return y.sum(), y.retains_grad


def filled(x: torch.Tensor, p: torch.Tensor) -> Any:
    value = x[1]
    return (
        torch.full((2,), value),
        torch.full((2,), value.long()),
        torch.full((2,), value > 0),
        torch.full((2,), x.sum(), dtype=torch.float64),
        torch.full_like(x, p.detach()[0]),
        x.new_full((2, 1), value.double()),
    )


def legacy_constructors(x: torch.Tensor, p: torch.Tensor) -> Any:
    like_x = x.double().new(2, 3).zero_()
    empty = torch.Tensor(2, 1).fill_(3), torch.Tensor(), torch.Tensor(x.shape).zero_()
    return like_x, empty, torch.Tensor([1, 2]), torch.Tensor([[x[0], 2]])


WHOLE = [
    used_inside,
    leaves,
    taken_away,
    put_on_inputs,
    gradient_removed,
    gradient_replaced,
    gradient_moved,
    required_already,
    detached,
    kept_inside,
    filled,
    legacy_constructors,
]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", WHOLE)
def test_whole(function: Function, backend: str) -> None:
    optimized = minidynamo.compile(function, backend=backend, fullgraph=True)
    for start in (0.0, 3.0):
        x = torch.arange(4.0) + start
        assert outcome(optimized, x, weight()) == outcome(function, x.clone(), weight())


@pytest.mark.parametrize("function", [leaves, put_on_inputs, gradient_replaced, detached, filled])
def test_in_inductor(function: Function) -> None:
    x = torch.arange(4.0)
    assert outcome(minidynamo.compile(function, backend="inductor"), x, weight()) == outcome(function, x.clone(), weight())


@pytest.mark.parametrize("backend", BACKENDS)
def test_gradients_past_what_is_detached_and_kept(backend: str) -> None:
    for function, place in ((detached, 1), (kept_inside, 0)):
        optimized = minidynamo.compile(function, backend=backend, fullgraph=True)
        gradients = []
        for f in (function, optimized):
            p = weight()
            f(torch.arange(4.0), p)[place].backward()
            gradients.append(p.grad)
        assert torch.equal(gradients[0], gradients[1])


def kept_and_given(x: torch.Tensor, p: torch.Tensor) -> Any:
    y = x * p
    z = y * 3
    y.retain_grad()
    return y, z.sum()


def filled_with_what_requires_a_gradient(x: torch.Tensor, p: torch.Tensor) -> Any:
    return torch.full((2,), p[0])


def required_anew(x: torch.Tensor, p: torch.Tensor) -> Any:
    y = x.clone().requires_grad_()
    return y * 2, y


def required_of_a_result(x: torch.Tensor, p: torch.Tensor) -> Any:
    y = x * p
    y.requires_grad = True
    return y


def detached_input(x: torch.Tensor, p: torch.Tensor) -> Any:
    y = p * 2
    return p.detach_() + y, y


def detached_view(x: torch.Tensor, p: torch.Tensor) -> Any:
    return (x * p)[:2].detach_()


BROKEN = [
    kept_and_given,
    required_anew,
    required_of_a_result,
    detached_input,
    detached_view,
    gradient_of_other_size,
    filled_with_what_requires_a_gradient,
]


@pytest.mark.parametrize("function", BROKEN)
def test_what_a_graph_cannot_give_is_a_break(function: Function) -> None:
    x = torch.arange(4.0)
    assert outcome(minidynamo.compile(function, backend="eager"), x, weight()) == outcome(function, x.clone(), weight())
    with pytest.raises(minidynamo.Unsupported):
        minidynamo.compile(function, backend="eager", fullgraph=True)(torch.arange(4.0), weight())


def test_a_gradient_that_is_kept_and_given() -> None:
    gradients = []
    for function in (kept_and_given, minidynamo.compile(kept_and_given, backend="eager")):
        y, total = function(torch.arange(4.0), weight())
        total.backward()
        gradients.append(y.grad)
    assert torch.equal(gradients[0], gradients[1])


def test_an_attribute_is_guarded() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return x * x.factor

    optimized = minidynamo.compile(function, backend="eager", fullgraph=True)
    for factor in (2, 3):
        x = torch.ones(2)
        x.factor = factor  # type: ignore[attr-defined]
        assert torch.equal(optimized(x), x * factor)


def test_a_module_that_is_moved_to_where_it_is() -> None:
    module = torch.nn.Linear(4, 2)

    def function(x: torch.Tensor) -> torch.Tensor:
        return module.to("cpu").float()(x)

    x = torch.ones(4)
    assert torch.equal(minidynamo.compile(function, backend="eager", fullgraph=True)(x), function(x))
