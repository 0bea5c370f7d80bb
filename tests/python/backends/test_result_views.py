"""Results that are views of inputs or of one another: the gradient that they pass on, with compilers that make them again."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

import minidynamo

Results = tuple[torch.Tensor, ...]


def without_gradient(x: torch.Tensor) -> Results:
    with torch.no_grad():
        view = x.expand(2)
    return (view,)


def one_of_many(x: torch.Tensor) -> Results:
    with torch.no_grad():
        first, second = x.expand(2)
    return first, second


def view_of_such_a_view(x: torch.Tensor) -> Results:
    with torch.no_grad():
        view = x.expand(2)
    return (view[1],)


def computed_from_such_a_view(x: torch.Tensor) -> Results:
    with torch.no_grad():
        view = x.expand(2)
    return view, view * 2, x * 3


def of_what_was_computed(x: torch.Tensor) -> Results:
    y = x * 2
    with torch.no_grad():
        view = y.expand(2)
    return view, view * 3, y


def of_a_view(x: torch.Tensor) -> Results:
    y = x.view(-1)
    with torch.no_grad():
        view = y.expand(2)
        apart = view * 2
    return y, view, apart


def with_and_without(x: torch.Tensor) -> Results:
    with torch.no_grad():
        view = x.view(1, -1)
        with torch.enable_grad():
            passes_on = x.view(1, -1)
    return view, passes_on, x.expand(2)


def of_other_layout(x: torch.Tensor) -> Results:
    pairs = torch.stack((x, x * 2), -1)
    with torch.no_grad():
        view = torch.view_as_complex(pairs)
    return view, pairs


PROGRAMS = [
    without_gradient,
    one_of_many,
    view_of_such_a_view,
    computed_from_such_a_view,
    of_what_was_computed,
    of_a_view,
    with_and_without,
    of_other_layout,
]


def observed(program: Callable[[torch.Tensor], Results], run: Callable[[torch.Tensor], Results], grad_enabled: bool) -> list[Any]:
    """The results' values, their places in autograd's graph, and the parameter's gradient after a backward pass from all of them."""
    weight = torch.nn.Parameter(torch.tensor([1.5]))
    with torch.set_grad_enabled(grad_enabled):
        results = run(weight)
    seen: list[Any] = [(x.tolist(), x.requires_grad, x.is_leaf, x._base is weight) for x in results]
    with torch.enable_grad():
        total = sum(x.abs().sum() for x in results)
    if isinstance(total, torch.Tensor) and total.requires_grad:
        total.backward()
    return [*seen, weight.grad]


def of_another_package(graph_module: torch.fx.GraphModule, example_inputs: list[torch.Tensor]) -> Callable[..., Any]:
    """A backend that uses AOTAutograd as those of other packages do."""
    from functorch.compile import make_boxed_func
    from torch._dynamo.backends.common import aot_autograd

    def run_as_it_is(part: torch.fx.GraphModule, inputs: list[Any]) -> Any:
        return make_boxed_func(part.forward)

    return aot_autograd(fw_compiler=run_as_it_is)(graph_module, example_inputs)


def runs_as_it_is(graph_module: torch.fx.GraphModule, example_inputs: list[torch.Tensor]) -> Callable[..., Any]:
    return graph_module.forward


@pytest.mark.parametrize("grad_enabled", [True, False])
@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor", of_another_package, runs_as_it_is])
@pytest.mark.parametrize("program", PROGRAMS)
def test_views_pass_on_the_gradient_that_they_do_eagerly(
    program: Callable[[torch.Tensor], Results], backend: str | Callable[..., Any], grad_enabled: bool
) -> None:
    expected = observed(program, program, grad_enabled)
    compiled = minidynamo.compile(program, backend=backend)
    assert observed(program, compiled, grad_enabled) == expected
    assert observed(program, compiled, grad_enabled) == expected, "a cached call"
    minidynamo.reset()
    assert observed(program, minidynamo.compile(program, backend=backend), grad_enabled) == expected, "the compiler's answer is known"
