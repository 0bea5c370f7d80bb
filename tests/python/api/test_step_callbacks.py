"""The program's own code that autograd's engine runs in a training step: hooks, the backward of an autograd.Function."""

import functools
import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd.function import once_differentiable
from torch.utils.checkpoint import checkpoint
from training_programs import Program, X, gradients, net, plain

import minidynamo

PROGRAMS: dict[str, Program] = {}
BREAKS: set[str] = set()


@pytest.fixture(autouse=True)
def fresh() -> Any:
    minidynamo.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    minidynamo.reset()


def one_graph(make: Program) -> Program:
    """`make` is given what captures a function, and makes a step and what shows its effects."""
    PROGRAMS[make.__name__] = make
    return make


def with_breaks(make: Program) -> Program:
    """A program that cannot be one graph, and runs as it does eagerly."""
    BREAKS.add(make.__name__)
    return one_graph(make)


def state(module: nn.Module) -> Any:
    return gradients(module), list(module.parameters()), [p._version for p in module.parameters()]


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        assert not torch.is_grad_enabled()
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        saved: torch.Tensor = ctx.saved_tensors[0]
        return 5 * gradient * saved


@one_graph
def function_with_its_own_backward(capture: Any) -> Any:
    model = net()
    return capture(lambda: Square.apply(model(X)).sum().backward()), lambda: gradients(model)


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, factor: float, bias: torch.Tensor, name: str) -> torch.Tensor:
        ctx.factor, ctx.name, ctx.needs = factor, name, ctx.needs_input_grad
        ctx.save_for_backward(x, None)
        return x * factor + bias

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:  # type: ignore[override]
        x, nothing = ctx.saved_tensors
        assert nothing is None and ctx.needs == (True, False, False, False) == ctx.needs_input_grad
        return gradient * ctx.factor + x.sign() * len(ctx.name), None, None, None


@one_graph
def function_with_other_arguments(capture: Any) -> Any:
    model, bias = net(), torch.ones(2)
    return capture(lambda: Scaled.apply(model(X), 3.0, bias, "ab").sum().backward()), lambda: gradients(model)


class Pair(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, y: torch.Tensor) -> Any:
        ctx.set_materialize_grads(False)
        order = x.argsort(-1)
        ctx.mark_non_differentiable(order)
        return x * y, x + y, order, "text"

    @staticmethod
    def backward(ctx: Any, product: Any, total: Any, order: Any, text: Any) -> Any:  # type: ignore[override]
        assert product is None and order is None and text is None
        return total * 2, None


@one_graph
def function_that_is_told_missing_gradients(capture: Any) -> Any:
    model = net()

    def step() -> Any:
        h = model(X)
        _, total, order, text = Pair.apply(h, h * 2)
        total.sum().backward()
        return order, text, order.requires_grad

    return capture(step), lambda: gradients(model)


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, y: torch.Tensor) -> Any:
        order = x.argsort(-1)
        ctx.mark_non_differentiable(order)
        return x * y, x + y, order

    @staticmethod
    def backward(ctx: Any, product: Any, total: Any, order: Any) -> Any:  # type: ignore[override]
        return product + total * 2, order.float()


@one_graph
def function_that_is_given_zeros(capture: Any) -> Any:
    model = net()

    def step() -> None:
        h = model(X)
        Twice.apply(h, h * 2)[1].sum().backward()

    return capture(step), lambda: gradients(model)


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return gradient * 2 + 1


@one_graph
def function_that_writes_in_place(capture: Any) -> Any:
    model = net()

    def step() -> Any:
        h = model[0](X)
        g = Doubled.apply(h)
        model[2](g + h).sum().backward()
        return g is h

    return capture(step), lambda: gradients(model)


class Identity(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return -gradient


@one_graph
def function_that_returns_its_input(capture: Any) -> Any:
    model = net()
    return capture(lambda: Identity.apply(model(X)).sum().backward()), lambda: gradients(model)


class Cubed(torch.autograd.Function):
    @staticmethod
    def forward(x: torch.Tensor, scale: float = 2.0) -> Any:  # type: ignore[override]
        return x**3 * scale, x.cos()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0], output[1])
        ctx.scale = inputs[1]

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor, other: torch.Tensor) -> Any:  # type: ignore[override]
        x, cosine = ctx.saved_tensors
        return 3 * x * x * gradient * ctx.scale + cosine * other, None


@one_graph
def function_with_setup_context(capture: Any) -> Any:
    model = net()

    def step() -> None:
        first, second = Cubed.apply(model(X))
        (first.sum() + 2 * second.sum()).backward()

    return capture(step), lambda: gradients(model)


@one_graph
def function_differentiated_twice(capture: Any) -> Any:
    model = net()

    def step() -> None:
        x = X.clone().requires_grad_(True)
        (g,) = torch.autograd.grad(Cubed.apply(model(x))[0].sum(), x, create_graph=True)
        g.pow(2).sum().backward()

    return capture(step), lambda: gradients(model)


class Once(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x.exp()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        assert not torch.is_grad_enabled()
        result: torch.Tensor = gradient * ctx.saved_tensors[0].exp() * 2
        return result


@one_graph
def function_that_is_differentiable_once(capture: Any) -> Any:
    model = net()
    return capture(lambda: Once.apply(model(X)).sum().backward()), lambda: gradients(model)


class Outer(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        result: torch.Tensor = Square.apply(x)
        return result

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        with torch.enable_grad():
            x = ctx.saved_tensors[0].detach().requires_grad_()
            y = Square.apply(x).sum()
        (inner,) = torch.autograd.grad(y, x)
        return gradient * inner


@one_graph
def function_within_a_function(capture: Any) -> Any:
    model = net()
    return capture(lambda: Outer.apply(model(X)).sum().backward()), lambda: gradients(model)


class Logging(torch.autograd.Function):
    calls: ClassVar[list[str]] = []

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        Logging.calls.append("forward")
        return x * 2

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        Logging.calls.append("backward")
        return gradient * 2


@one_graph
def function_that_logs(capture: Any) -> Any:
    model = net()
    Logging.calls = []
    return capture(lambda: Logging.apply(Logging.apply(model(X))).sum().backward()), lambda: (gradients(model), list(Logging.calls))


@one_graph
def function_without_gradients(capture: Any) -> Any:
    model = net()

    def step() -> Any:
        with torch.no_grad():
            a = Square.apply(model(X))
        b = Square.apply(X)
        (model(X) * a * b.sum()).sum().backward()
        return a, b

    return capture(step), lambda: gradients(model)


@one_graph
def function_in_the_class_of_a_module(capture: Any) -> Any:
    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.clip = nn.Linear(4, 4), 0.5

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            module = self

            class Clipped(torch.autograd.Function):
                @staticmethod
                def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
                    return x.clone()

                @staticmethod
                def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
                    return gradient.clamp(max=module.clip)

            result: torch.Tensor = Clipped.apply(self.inner(x))
            return result

    torch.manual_seed(0)
    model = Layer()
    return capture(lambda: model(X).sum().backward()), lambda: gradients(model)


BREAKS.add("function_in_the_class_of_a_module")


class Reads(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        Logging.calls.append(str(gradient.sum().item()))
        return gradient * 2


@with_breaks
def function_that_reads_a_number(capture: Any) -> Any:
    model = net()
    Logging.calls = []
    return capture(lambda: Reads.apply(model(X)).sum().backward()), lambda: (gradients(model), list(Logging.calls))


class Fails(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        raise ValueError("in the backward")


@with_breaks
def function_that_raises(capture: Any) -> Any:
    model = net()

    def step() -> str:
        try:
            (Fails.apply(model(X)).sum() + model[2].bias.sum()).backward()
        except ValueError as error:
            return str(error)
        return "none"

    return capture(step), lambda: gradients(model)


class Kept(torch.autograd.Function):
    contexts: ClassVar[list[Any]] = []

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        Kept.contexts.append(ctx)
        ctx.number = 3
        return x * 2

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return gradient * ctx.number


@with_breaks
def function_whose_ctx_is_kept(capture: Any) -> Any:
    model = net()
    Kept.contexts = []
    return capture(lambda: Kept.apply(model(X)).sum().backward()), lambda: (gradients(model), [c.number for c in Kept.contexts])


@with_breaks
def function_that_wrote_to_what_it_saved(capture: Any) -> Any:
    model = net()

    def step() -> str:
        h = model(X)
        y = Square.apply(h)
        h.detach().add_(1)
        try:
            y.sum().backward()
        except RuntimeError as error:
            return str(error)[:40]
        return "none"

    return capture(step), lambda: gradients(model)


@torch.library.custom_op("step_callbacks::scaled", mutates_args=())
def scaled(x: torch.Tensor, factor: float) -> torch.Tensor:
    return x * factor


scaled.register_fake(lambda x, factor: torch.empty_like(x))


def _keep(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.factor = inputs[1]


scaled.register_autograd(lambda ctx, gradient: (gradient * ctx.factor * 2, None), setup_context=_keep)


@one_graph
def operator_with_a_backward_of_its_own(capture: Any) -> Any:
    model = net()
    return capture(lambda: scaled(model(X), 3.0).sum().backward()), lambda: gradients(model)


# --- hooks of tensors


@one_graph
def hook_inside(capture: Any) -> Any:
    model = net()

    def step() -> None:
        h = model[0](X)
        h.register_hook(lambda g: g * 3)
        h.register_hook(lambda g: g + 1)
        model[2](model[1](h)).sum().backward()

    return capture(step), lambda: gradients(model)


@one_graph
def hook_inside_that_logs_gradients(capture: Any) -> Any:
    model, log = net(), []

    def step() -> None:
        h = model[0](X)
        h.register_hook(log.append)
        model[2].weight.register_hook if log is None else None
        model[2](model[1](h)).sum().backward()

    return capture(step), lambda: (gradients(model), list(log))


@one_graph
def hook_inside_that_is_removed(capture: Any) -> Any:
    model = net()

    def step() -> None:
        h = model[0](X)
        first = h.register_hook(lambda g: g * 3)
        second = h.register_hook(lambda g: g * 5)
        first.remove()
        with h.register_hook(lambda g: g * 7):
            pass
        model[2](model[1](h)).sum().backward()
        second.remove()

    return capture(step), lambda: gradients(model)


@with_breaks
def handle_that_leaves(capture: Any) -> Any:
    model = net()

    def step() -> Any:
        h = model[0](X)
        handle = h.register_hook(lambda g: g * 3)
        model[2](model[1](h)).sum().backward()
        return handle

    captured = capture(step)
    return lambda: isinstance(captured(), torch.utils.hooks.RemovableHandle), lambda: gradients(model)


@one_graph
def hook_of_a_parameter(capture: Any) -> Any:
    model, log = net(), []
    model[0].weight.register_hook(lambda g: (log.append(1), g * 2)[1])
    model[0].weight.register_hook(lambda g: log.append(2))
    model[2].bias.register_hook(functools.partial(torch.mul, other=3))
    return capture(lambda: model(X).sum().backward()), lambda: (gradients(model), list(log))


@one_graph
def hook_of_a_parameter_with_an_optimizer(capture: Any) -> Any:
    model = net()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    for p in model.parameters():
        p.register_hook(lambda g: g.clamp(-0.5, 0.5))

    def step() -> torch.Tensor:
        optimizer.zero_grad()
        loss: torch.Tensor = model(X).pow(2).sum()
        loss.backward()
        optimizer.step()
        return loss

    return capture(step), lambda: state(model)


@one_graph
def optimizer_in_the_backward(capture: Any) -> Any:
    model = net()

    @torch.no_grad()
    def descend(p: torch.Tensor) -> None:
        assert p.grad is not None
        p.sub_(p.grad, alpha=0.1)
        p.grad = None

    for p in model.parameters():
        p.register_post_accumulate_grad_hook(descend)
    return capture(lambda: model(X).pow(2).sum().backward()), lambda: state(model)


@one_graph
def hook_behind_the_accumulation(capture: Any) -> Any:
    model, log = net(), []
    model[0].weight.register_post_accumulate_grad_hook(lambda p: log.append(p.grad * 2))
    model[0].weight.register_hook(lambda g: g + 1)

    def step() -> None:
        model(X).sum().backward()
        model(X).sum().backward()

    return capture(step), lambda: (gradients(model), list(log))


@with_breaks
def hook_that_reads_a_number(capture: Any) -> Any:
    model, log = net(), []
    model[0].weight.register_post_accumulate_grad_hook(lambda p: log.append(p.grad.sum().item()))
    return capture(lambda: model(X).sum().backward()), lambda: (gradients(model), list(log))


def test_hooks_come_and_go() -> None:
    """A hook of a parameter that is put there, or removed, between calls: each is guarded."""

    def outcomes(capture: Any) -> Any:
        model, log = net(), []
        step = capture(lambda: model(X).sum().backward())
        results = []
        handles: list[Any] = []

        def shown() -> None:
            step()
            results.append(plain((gradients(model), list(log))))

        shown(), shown()
        handles.append(model[0].weight.register_hook(lambda g: g * 2))
        shown(), shown()
        handles.append(model[0].weight.register_hook(lambda g: log.append(1)))
        handles.append(model[2].bias.register_post_accumulate_grad_hook(lambda p: log.append(2)))
        shown()
        handles[0].remove()
        shown(), shown()
        handles[2].remove()
        handles[1].remove()
        shown()
        return results

    assert outcomes(minidynamo.optimize("eager", fullgraph=True)) == outcomes(lambda step: step)


@one_graph
def hook_on_a_parameter_inside(capture: Any) -> Any:
    model, calls = net(), []

    def step(first: bool) -> None:
        if first:
            model[0].weight.register_hook(lambda g: g * 2)
        model(X).sum().backward()

    captured = capture(step)
    return lambda: (captured(not calls), calls.append(1)), lambda: gradients(model)


@one_graph
def hook_and_gradients_that_are_asked_for(capture: Any) -> Any:
    model = net()
    model[0].weight.register_hook(lambda g: g * 2)

    def step() -> Any:
        first = torch.autograd.grad(model(X).sum(), [model[0].weight, model[0].bias])
        model(X).sum().backward(inputs=[model[0].weight])
        return first

    return capture(step), lambda: gradients(model)


@with_breaks
def hook_and_gradients_alone(capture: Any) -> Any:
    model = net()
    model[0].weight.register_hook(lambda g: g * 2)
    return capture(lambda: torch.autograd.grad(model(X).sum(), [model[0].weight])), lambda: gradients(model)


@one_graph
def hook_of_a_leaf_inside(capture: Any) -> Any:
    def step() -> Any:
        x = X.clone().requires_grad_(True)
        x.register_hook(lambda g: g * 2)
        x.register_post_accumulate_grad_hook(lambda p: (p.grad.add_(1), None)[1])
        (x * x).sum().backward()
        return x.grad

    return capture(step), lambda: None


@one_graph
def tied_weights_with_a_hook(capture: Any) -> Any:
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
    model[2].weight = model[0].weight
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.linspace(-1, 1, p.numel()).reshape(p.shape))
    log: list[Any] = []
    model[0].weight.register_hook(lambda g: log.append(g.sum()))
    return capture(lambda: model(X).sum().backward()), lambda: (gradients(model), list(log))


@one_graph
def hooks_in_their_order(capture: Any) -> Any:
    model, log = net(), []
    for name, p in model.named_parameters():
        p.register_hook(functools.partial(lambda name, g: log.append(("hook", name)), name))
        p.register_post_accumulate_grad_hook(functools.partial(lambda name, p: log.append(("after", name)), name))

    def step() -> None:
        h = model[0](X)
        h.register_hook(lambda g: log.append(("inside", "h")))
        model[2](model[1](h)).sum().backward()
        log.append(("end", ""))

    return capture(step), lambda: (gradients(model), list(log))


# --- hooks of modules


@one_graph
def backward_hook_of_a_module(capture: Any) -> Any:
    model, log = net(), []
    model[2].register_full_backward_hook(lambda module, inputs, outputs: log.append((inputs[0].sum(), outputs[0])))
    model[2].register_full_backward_hook(lambda module, inputs, outputs: (inputs[0] * 2,))
    return capture(lambda: model(X).sum().backward()), lambda: (gradients(model), list(log))


@one_graph
def backward_pre_hook_of_a_module(capture: Any) -> Any:
    model, log = net(), []
    model[2].register_full_backward_pre_hook(lambda module, outputs: (outputs[0] * 3,))
    model[1].register_full_backward_hook(lambda module, inputs, outputs: log.append(outputs[0]))
    return capture(lambda: model(X).sum().backward()), lambda: (gradients(model), list(log))


@with_breaks
def backward_hook_of_the_first_module(capture: Any) -> Any:
    model, log = net(), []
    model[0].register_full_backward_hook(lambda module, inputs, outputs: log.append(outputs[0].sum()))
    return capture(lambda: model(X).sum().backward()), lambda: (gradients(model), list(log))


@one_graph
def forward_hooks_of_modules(capture: Any) -> Any:
    model, log = net(), []
    model[0].register_forward_hook(lambda module, inputs, output: log.append(output.detach().sum()))
    model[2].register_forward_pre_hook(lambda module, inputs: (inputs[0] * 2,))
    return capture(lambda: model(X).sum().backward()), lambda: (gradients(model), list(log))


@one_graph
def hook_of_a_node(capture: Any) -> Any:
    model = net()

    def step() -> str:
        h = Square.apply(model(X))
        h.grad_fn.register_hook(lambda made, given: (made[0] * 2,))
        h.grad_fn.register_prehook(lambda given: (given[0] + 1,))
        h.sum().backward()
        return str(h.grad_fn.name())

    return capture(step), lambda: gradients(model)


@one_graph
def dropout_in_a_hook(capture: Any) -> Any:
    model = net()
    model[0].weight.register_hook(lambda g: F.dropout(g, 0.5))
    return capture(lambda: model(X).sum().backward()), lambda: (gradients(model), torch.get_rng_state().sum())


# --- checkpoints


def checkpointed(**settings: Any) -> Any:
    def make(capture: Any) -> Any:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.4), nn.Linear(8, 2))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        calls: list[int] = []

        def first(x: torch.Tensor) -> torch.Tensor:
            calls.append(1)
            h: torch.Tensor = model[2](model[1](model[0](x))).relu()
            calls.append(2)
            return F.dropout(h, 0.5)

        def step(x: torch.Tensor) -> torch.Tensor:
            optimizer.zero_grad()
            h = checkpoint(first, x, **settings)
            loss: torch.Tensor = (F.dropout(model[3](h), 0.3) ** 2).sum()
            loss.backward()
            optimizer.step()
            return loss

        captured = capture(step)
        inputs = [X.clone().requires_grad_(True) for _ in range(2)]

        def run() -> Any:
            return [captured(x) for x in inputs]

        return run, lambda: (state(model), list(model.buffers()), list(calls), [x.grad for x in inputs], torch.get_rng_state())

    return make


PROGRAMS["checkpoint"] = checkpointed(use_reentrant=False)
PROGRAMS["checkpoint_of_the_old_kind"] = checkpointed(use_reentrant=True)
PROGRAMS["checkpoint_without_random_state"] = checkpointed(use_reentrant=False, preserve_rng_state=False)
PROGRAMS["checkpoint_of_the_old_kind_without_random_state"] = checkpointed(use_reentrant=True, preserve_rng_state=False)
RANDOM = {name for name in PROGRAMS if name.startswith("checkpoint")} | {"dropout_in_a_hook"}


@one_graph
def checkpoints_in_a_row(capture: Any) -> Any:
    torch.manual_seed(0)
    layers = nn.ModuleList([nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True) for _ in range(3)])
    x = torch.randn(2, 5, 8)

    def step() -> torch.Tensor:
        h = x
        for layer in layers:
            h = checkpoint(layer, h, use_reentrant=False)
        loss: torch.Tensor = h.pow(2).mean()
        loss.backward()
        return loss

    return capture(step), lambda: gradients(layers)


@one_graph
def checkpoint_with_gradients_that_are_asked_for(capture: Any) -> Any:
    model = net()

    def step() -> Any:
        x = X.clone().requires_grad_(True)
        h = checkpoint(lambda x: model[1](model[0](x)), x, use_reentrant=False)
        (g,) = torch.autograd.grad(model[2](h).sum(), x, create_graph=True)
        (g.pow(2).sum() + model(X).sum()).backward()
        return g.sum().detach()

    return capture(step), lambda: gradients(model)


@one_graph
def checkpoint_whose_graph_is_kept(capture: Any) -> Any:
    model, calls = net(), []

    def inner(x: torch.Tensor) -> torch.Tensor:
        calls.append(1)
        h: torch.Tensor = model[1](model[0](x))
        return h

    def step() -> None:
        loss = model[2](checkpoint(inner, X, use_reentrant=False)).sum()
        loss.backward(retain_graph=True)
        loss.backward()

    return capture(step), lambda: (gradients(model), list(calls))


@one_graph
def checkpoint_within_autocast(capture: Any) -> Any:
    model = net()

    def step() -> None:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            h = checkpoint(lambda x: model[1](model[0](x)), X, use_reentrant=False)
        model[2](h.float()).sum().backward()

    return capture(step), lambda: gradients(model)


@one_graph
def checkpoint_of_a_function(capture: Any) -> Any:
    model = net()

    def step() -> None:
        h = checkpoint(lambda x: Cubed.apply(model[0](x))[0], X, use_reentrant=False)
        model[2](h).sum().backward()

    return capture(step), lambda: gradients(model)


@with_breaks
def checkpoint_within_a_checkpoint(capture: Any) -> Any:
    model = net()

    def inner(x: torch.Tensor) -> Any:
        return checkpoint(lambda x: model[1](model[0](x)), x, use_reentrant=False)

    return capture(lambda: model[2](checkpoint(inner, X, use_reentrant=False)).sum().backward()), lambda: gradients(model)


@one_graph
def checkpoint_of_the_old_kind_within_another(capture: Any) -> Any:
    model, x = net(), X.clone().requires_grad_(True)

    def inner(x: torch.Tensor) -> Any:
        return F.dropout(checkpoint(lambda x: F.dropout(model[1](model[0](x)), 0.5), x, use_reentrant=True), 0.2)

    def step() -> None:
        model[2](checkpoint(inner, F.dropout(x, 0.1), use_reentrant=True)).sum().backward()

    return capture(step), lambda: (gradients(model), x.grad, torch.get_rng_state())


@with_breaks
def checkpoint_that_computes_something_else(capture: Any) -> Any:
    model, calls = net(), []

    def inner(x: torch.Tensor) -> torch.Tensor:
        calls.append(1)
        h: torch.Tensor = model[1](model[0](x))
        return h if len(calls) % 2 else h.reshape(2, 12).reshape(3, 8) * 2

    def step() -> str:
        try:
            model[2](checkpoint(inner, X, use_reentrant=False)).sum().backward()
        except RuntimeError as error:
            return type(error).__name__
        return "none"

    return capture(step), lambda: gradients(model)


@with_breaks
def checkpoint_of_what_was_written_to(capture: Any) -> Any:
    model = net()

    def step() -> str:
        x = X.clone()
        loss = model[2](checkpoint(lambda x: model[1](model[0](x)), x, use_reentrant=False)).sum()
        x.add_(1)
        try:
            loss.backward()
        except RuntimeError as error:
            return str(error)[:30]
        return "none"

    return capture(step), lambda: gradients(model)


def _close(got: Any, expected: Any) -> bool:
    if isinstance(expected, (list, tuple)):
        return len(got) == len(expected) and all(_close(a, b) for a, b in zip(got, expected, strict=True))
    if isinstance(expected, float):
        return got == pytest.approx(expected, rel=1e-5, abs=1e-6)
    return bool(got == expected)


# AOTAutograd draws other random numbers, counts writes otherwise, and differentiates all its inputs, even if the gradients are not used.
OTHERWISE_COMPILED = RANDOM | {"optimizer_in_the_backward", "checkpoint_of_what_was_written_to"}


@pytest.mark.parametrize(
    ("name", "backend"),
    [(name, backend) for name in PROGRAMS for backend in ("eager", "aot_eager") if backend == "eager" or name not in OTHERWISE_COMPILED],
)
def test_equals_eager(name: str, backend: str) -> None:
    def outcomes(capture: Callable[[Any], Any]) -> list[Any]:
        torch.manual_seed(7)
        step, show = PROGRAMS[name](capture)
        return [plain((step(), show())) for _ in range(3)]

    expected = outcomes(lambda step: step)
    got = outcomes(minidynamo.optimize(backend, fullgraph=name not in BREAKS))
    if backend == "eager":
        assert got == expected
    else:
        assert _close(got, expected)


@pytest.mark.parametrize(
    "name", ["function_with_its_own_backward", "hook_of_a_parameter", "backward_hook_of_a_module", "checkpoints_in_a_row"]
)
def test_with_inductor(name: str) -> None:
    def outcomes(capture: Callable[[Any], Any]) -> list[Any]:
        step, show = PROGRAMS[name](capture)
        return [plain((step(), show())) for _ in range(2)]

    assert _close(outcomes(minidynamo.optimize("inductor", fullgraph=True)), outcomes(lambda step: step))
