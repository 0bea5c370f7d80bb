"""Leaves of autograd that a captured function makes or tells to be others: parameters, modules, requires_grad, .data."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch

import minidynamo

Function = Callable[..., Any]


class Holder(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.register_buffer("scale", torch.ones(4))
        self.made: Any = None


def holder() -> Holder:
    torch.manual_seed(3)
    return Holder()


def tensor_as_text(value: torch.Tensor) -> Any:
    gradient = value.grad.tolist() if value.is_leaf and value.grad is not None else None
    return type(value).__name__, value.tolist(), str(value.dtype), value.requires_grad, value.is_leaf, gradient


def described(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return tensor_as_text(value)
    if isinstance(value, torch.nn.Module):
        own = {name: type(part).__name__ for name, part in value.named_modules()}
        return own, {name: described(part) for name, part in [*value.named_parameters(), *value.named_buffers()]}
    if isinstance(value, (list, tuple)):
        return [described(item) for item in value]
    return value


def tensors_in(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    return [tensor for item in value for tensor in tensors_in(item)] if isinstance(value, (list, tuple)) else []


def outcomes(function: Function) -> Any:
    """The outcomes of three calls: what they return, leave behind, and make of a backward pass."""
    module, told = holder(), []
    torch.manual_seed(0)
    for scale in (1.0, 1.0, 3.0):
        x = torch.arange(12.0).reshape(3, 4) * scale
        result = function(x, module)
        told.append(described([result, x, module, module.made]))
        for tensor in tensors_in(result):
            if tensor.requires_grad:
                tensor.sum().backward(retain_graph=True)
        told.append(described([result, x, module, module.made]))
        module.zero_grad()
    return told, torch.rand(2).tolist()


def hidden_state(x: torch.Tensor, m: Holder) -> Any:
    h = torch.zeros(4).requires_grad_()
    return m.linear(x + h), h.detach()


def leaf_alone(x: torch.Tensor, m: Holder) -> Any:
    return torch.ones(4, requires_grad=True)


def leaf_of_input(x: torch.Tensor, m: Holder) -> Any:
    y = x.detach().clone()
    y.requires_grad = True
    return y, y.requires_grad, y.is_leaf, m.linear(x)


def leaf_that_nobody_has(x: torch.Tensor, m: Holder) -> Any:
    y = (x * 2).requires_grad_()
    z = y * x
    return z, z.requires_grad, z.sum()


def leaf_of_data(x: torch.Tensor, m: Holder) -> Any:
    w = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    return x * w, m.linear(x * w)


def leaf_for_gradients(x: torch.Tensor, m: Holder) -> Any:
    x = x.detach().requires_grad_(True)
    (gradient,) = torch.autograd.grad((m.linear(x) ** 2).sum(), x)
    return gradient


def kept_gradient(x: torch.Tensor, m: Holder) -> Any:
    w = torch.ones(4, requires_grad=True)
    y = x * w
    y.retain_grad()
    y.sum().backward()
    return y.grad + w.grad


def parameter_used(x: torch.Tensor, m: Holder) -> Any:
    p = torch.nn.Parameter(torch.full((4,), 2.0))
    return m.linear(x) * p, isinstance(p, torch.nn.Parameter), p.requires_grad, type(p).__name__


def parameter_given(x: torch.Tensor, m: Holder) -> Any:
    return torch.nn.Parameter(x[0] * 2), torch.nn.Parameter(x[1] + 1, requires_grad=False)


def parameter_kept(x: torch.Tensor, m: Holder) -> Any:
    if "extra" not in m._parameters:
        m.extra = torch.nn.Parameter(torch.ones(4))
    return x + 1


def module_used(x: torch.Tensor, m: Holder) -> Any:
    layer = torch.nn.Linear(4, 2)
    return layer(m.linear(x)), layer.weight.shape


def module_alone(x: torch.Tensor, m: Holder) -> Any:
    return torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU(), torch.nn.LayerNorm(3))(x)


def module_initialized(x: torch.Tensor, m: Holder) -> Any:
    layer = torch.nn.Linear(4, 2)
    torch.nn.init.constant_(layer.weight, 0.5)
    torch.nn.init.zeros_(layer.bias)
    return layer(x)


def module_kept(x: torch.Tensor, m: Holder) -> Any:
    m.made = torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.BatchNorm1d(2))
    return x * 2


def module_of_its_own_class(x: torch.Tensor, m: Holder) -> Any:
    made = Holder()
    return made(x) if callable(getattr(made, "forward_of", None)) else made.linear(x) * made.scale


def module_copied(x: torch.Tensor, m: Holder) -> Any:
    other = copy.deepcopy(m.linear)
    return m.linear(x) + other(x).detach()


def frozen_and_back(x: torch.Tensor, m: Holder) -> Any:
    before = m.linear(x)
    m.linear.requires_grad_(False)
    frozen = m.linear(x)
    asked = frozen.requires_grad, m.linear.weight.requires_grad
    m.linear.requires_grad_(True)
    return before, frozen, asked, m.linear(x)


def frozen_for_good(x: torch.Tensor, m: Holder) -> Any:
    for parameter in m.parameters():
        parameter.requires_grad = False
    return m.linear(x)


def discriminator_step(x: torch.Tensor, m: Holder) -> Any:
    w = torch.ones(4, requires_grad=True)
    for parameter in m.linear.parameters():
        parameter.requires_grad = False
    m.linear(x * w).sum().backward()
    for parameter in m.linear.parameters():
        parameter.requires_grad = True
    return w.grad


def data_written(x: torch.Tensor, m: Holder) -> Any:
    m.linear.weight.data -= 0.1 * x[:1]
    m.linear.weight.data.mul_(2)
    m.linear.bias.data[0] = 1
    return m.linear(x)


def data_of_buffer(x: torch.Tensor, m: Holder) -> Any:
    m.scale.data = m.scale.data * 2 + x[0]
    return x * m.scale


def data_of_parameter(x: torch.Tensor, m: Holder) -> Any:
    before = m.linear(x)
    m.linear.weight.data = torch.eye(4) * x.sum()
    return before, m.linear.weight.detach() * 2


def data_of_new_tensor(x: torch.Tensor, m: Holder) -> Any:
    y = torch.zeros(2)
    y.data = x * 3
    y.add_(1)
    return y, y.shape, y[0]


def steps_by_hand(x: torch.Tensor, m: Holder) -> Any:
    loss = m.linear(x).square().mean()
    loss.backward()
    for parameter in m.linear.parameters():
        parameter.data -= 0.01 * parameter.grad
        parameter.grad.data.zero_()
    m.linear.bias.data = m.linear.bias.data - 0.1 * m.linear.bias
    return loss.detach()


def data_exchanged_and_back(x: torch.Tensor, m: Holder) -> Any:
    before = m.scale.data
    m.scale.data = x[1] * 2
    y = x * m.scale
    m.scale.data = before
    return y, m.scale * 1


def data_of_an_input(x: torch.Tensor, m: Holder) -> Any:
    m.scale.data = x[0]
    m.scale.add_(1)
    return x * 1, m.scale * x


def data_of_new_leaf(x: torch.Tensor, m: Holder) -> Any:
    p = torch.nn.Parameter(torch.zeros(4))
    p.data = x[0].clone()
    p.data.add_(1)
    return p, torch.nn.Linear(4, 2).double()(x.double()).detach()


def leaf_written_to(x: torch.Tensor, m: Holder) -> Any:
    p = torch.zeros(4, requires_grad=True)
    with torch.no_grad():
        p.add_(x[0])
    return p, p.detach() * 2


def leaf_over_an_input(x: torch.Tensor, m: Holder) -> Any:
    p = torch.nn.Parameter(x)
    q = p.detach()
    q.add_(1)
    return p, q, x * 2


def loss_of_leaf(x: torch.Tensor, m: Holder) -> Any:
    w = torch.ones(4, requires_grad=True)
    loss = (x * w).sum()
    loss.backward()
    return loss.detach(), w.grad, w


def attack(x: torch.Tensor, m: Holder) -> Any:
    x.requires_grad = True
    m.linear(x).sum().backward()
    gradient = x.grad.data
    return (x + 0.1 * gradient.sign()).detach(), x.grad


def frozen_and_written_to(x: torch.Tensor, m: Holder) -> Any:
    m.linear.weight.requires_grad = False
    m.linear.weight.mul_(2)
    y = m.linear(x)
    m.linear.weight.requires_grad = True
    return y, m.linear(x)


WHOLE: list[Function] = [
    data_exchanged_and_back,
    data_of_an_input,
    data_of_new_leaf,
    leaf_written_to,
    leaf_over_an_input,
    loss_of_leaf,
    attack,
    frozen_and_written_to,
    hidden_state,
    leaf_alone,
    leaf_of_input,
    leaf_that_nobody_has,
    leaf_of_data,
    leaf_for_gradients,
    kept_gradient,
    parameter_used,
    parameter_given,
    parameter_kept,
    module_used,
    module_alone,
    module_initialized,
    module_kept,
    module_of_its_own_class,
    module_copied,
    frozen_and_back,
    frozen_for_good,
    discriminator_step,
    data_written,
    data_of_buffer,
    data_of_parameter,
    data_of_new_tensor,
    steps_by_hand,
]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("function", WHOLE)
def test_one_graph(function: Function, backend: str) -> None:
    assert outcomes(minidynamo.compile(function, backend=backend, fullgraph=True)) == outcomes(function)


@pytest.mark.parametrize("function", [hidden_state, module_initialized, frozen_and_back, data_of_buffer])
def test_in_inductor(function: Function) -> None:
    captured = minidynamo.compile(function, backend="inductor", fullgraph=True)
    module, wanted = holder(), holder()
    x = torch.arange(12.0).reshape(3, 4)
    for _ in range(2):
        got, expected = tensors_in(captured(x, module)), tensors_in(function(x, wanted))
        torch.testing.assert_close(got, expected)
        assert [tensor.requires_grad for tensor in got] == [tensor.requires_grad for tensor in expected]
        torch.testing.assert_close(module.state_dict(), wanted.state_dict())


def leaf_and_what_it_gives(x: torch.Tensor, m: Holder) -> Any:
    w = torch.ones(4, requires_grad=True)
    return x * w, w


def kept_and_used(x: torch.Tensor, m: Holder) -> Any:
    m.made = torch.nn.Linear(4, 2)
    return m.made(x)


def hooked(x: torch.Tensor, m: Holder) -> Any:
    w = torch.ones(4, requires_grad=True)
    w.register_hook(m.scale.copy_)
    return x * w


def input_told(x: torch.Tensor, m: Holder) -> Any:
    x.requires_grad_()
    return x * 2


def data_of_parameter_used(x: torch.Tensor, m: Holder) -> Any:
    m.linear.weight.data = torch.eye(4)
    return m.linear(x)


def data_of_other_dtype(x: torch.Tensor, m: Holder) -> Any:
    return m.double().linear(x.double())


def view_of_leaf(x: torch.Tensor, m: Holder) -> Any:
    y = x.detach().requires_grad_()[0]
    return y, y._is_view()


def swapped_data(x: torch.Tensor, m: Holder) -> Any:
    before = m.scale.data
    m.scale.data = x[0] * 2
    before.add_(1)
    y = x * m.scale
    m.scale.data = before
    return y, m.scale * 2


BROKEN: list[Function] = [
    leaf_and_what_it_gives,
    kept_and_used,
    hooked,
    input_told,
    data_of_parameter_used,
    data_of_other_dtype,
    view_of_leaf,
    swapped_data,
]


@pytest.mark.parametrize("function", BROKEN)
def test_what_no_graph_gives_is_a_break(function: Function) -> None:
    assert outcomes(minidynamo.compile(function, backend="aot_eager")) == outcomes(function)
    minidynamo.reset()
    with pytest.raises(minidynamo.Unsupported):
        minidynamo.compile(function, backend="eager", fullgraph=True)(torch.ones(3, 4), holder())


def test_a_trace_tells_no_leaf_anything() -> None:
    module = holder()

    def function(x: torch.Tensor) -> torch.Tensor:
        module.linear.requires_grad_(False)
        module.scale.data = x[0] * 2
        return torch.linalg.solve(x, x)

    with pytest.raises(RuntimeError):
        minidynamo.compile(function, backend="eager", fullgraph=True)(torch.zeros(3, 4))
    assert all(parameter.requires_grad for parameter in module.linear.parameters())
    assert torch.equal(module.scale, torch.ones(4))
