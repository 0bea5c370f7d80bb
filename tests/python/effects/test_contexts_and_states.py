"""Context managers and switches of torch inside a captured function: one graph, the same results, the same state afterwards; cut by a
graph break inside, they are as they were."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

import minidynamo

Function = Callable[[torch.Tensor], Any]


def states() -> dict[str, Any]:
    kernels = torch.backends.cuda
    return {
        "kernels": [
            kernels.flash_sdp_enabled(),
            kernels.math_sdp_enabled(),
            kernels.mem_efficient_sdp_enabled(),
            kernels.cudnn_sdp_enabled(),
        ],
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "dtype": torch.get_default_dtype(),
        "anomaly": (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()),
        "torch function": torch._C._is_torch_function_enabled(),
    }


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    before = states()
    yield
    assert states() == before


def recorded(x: torch.Tensor) -> Any:
    with torch.profiler.record_function("outer"), torch.autograd.profiler.record_function("inner"):
        y = x * 2
    return y.sin()


@torch.profiler.record_function("whole")
def decorated(x: torch.Tensor) -> Any:
    return x * 3


def math_kernel(x: torch.Tensor) -> Any:
    with sdpa_kernel(SDPBackend.MATH):
        return scaled_dot_product_attention(x, x, x), torch.backends.cuda.flash_sdp_enabled()


def two_kernels(x: torch.Tensor) -> Any:
    with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]):
        y = scaled_dot_product_attention(x, x, x)
    return y + 1, torch.backends.cuda.mem_efficient_sdp_enabled()


def without_subclasses(x: torch.Tensor) -> Any:
    with torch._C.DisableTorchFunctionSubclass():
        y = x + torch._C._is_torch_function_enabled()
    return y, torch._C._is_torch_function_enabled()


def without_functions(x: torch.Tensor) -> Any:
    with torch._C.DisableTorchFunction():
        return x.cos()


def without_dispatch(x: torch.Tensor) -> Any:
    with torch._C._DisableTorchDispatch():
        return x.cos()


def no_anomaly(x: torch.Tensor) -> Any:
    with torch.autograd.set_detect_anomaly(False):
        return x * 2


PROGRAMS: list[Function] = [
    recorded,
    decorated,
    math_kernel,
    two_kernels,
    without_subclasses,
    without_functions,
    without_dispatch,
    no_anomaly,
]


def inputs(scale: float = 1.0) -> torch.Tensor:
    return (torch.arange(48.0).reshape(1, 2, 6, 4) / 48 * scale).requires_grad_()


def observed(function: Function, x: torch.Tensor) -> tuple[Any, Any]:
    result = function(x)
    tensor = result[0] if isinstance(result, tuple) else result
    tensor.sum().backward()
    return result, x.grad


def check_equal(actual: Any, expected: Any) -> None:
    torch.testing.assert_close(actual, expected)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_one_graph(function: Function, backend: str) -> None:
    captured = minidynamo.compile(function, backend=backend, fullgraph=True)
    for scale in (1.0, 1.0, -2.0):
        check_equal(observed(captured, inputs(scale)), observed(function, inputs(scale)))
    assert len(minidynamo.debug.cache_entries(captured)) == 1


@pytest.mark.slow
@pytest.mark.parametrize("function", [recorded, math_kernel, without_subclasses], ids=lambda function: function.__name__)
def test_inductor(function: Function) -> None:
    captured = minidynamo.compile(function, backend="inductor", fullgraph=True)
    check_equal(observed(captured, inputs()), observed(function, inputs()))


def cut_recorded(x: torch.Tensor) -> Any:
    with torch.profiler.record_function("cut"):
        y = x * 2
        minidynamo.graph_break()
        y = y.sin()
    return y + 1


def cut_kernel(x: torch.Tensor) -> Any:
    with sdpa_kernel(SDPBackend.MATH):
        before = torch.backends.cuda.flash_sdp_enabled()
        y = scaled_dot_product_attention(x, x, x)
        minidynamo.graph_break()
        z = scaled_dot_product_attention(y, x, x)
        inside = torch.backends.cuda.flash_sdp_enabled()
    return z, before, inside, torch.backends.cuda.flash_sdp_enabled()


def cut_subclasses(x: torch.Tensor) -> Any:
    with torch._C.DisableTorchFunctionSubclass():
        y = x * 2
        minidynamo.graph_break()
        inside = torch._C._is_torch_function_enabled()
        y = y.sin()
    return y, inside, torch._C._is_torch_function_enabled()


def cut_dispatch(x: torch.Tensor) -> Any:
    with torch._C._DisableTorchDispatch():
        y = x * 2
        minidynamo.graph_break()
        y = y.sin()
    return y


@pytest.mark.parametrize("function", [cut_recorded, cut_kernel, cut_subclasses, cut_dispatch], ids=lambda function: function.__name__)
def test_cut_inside(function: Function) -> None:
    graphs = []

    def backend(module: torch.fx.GraphModule, _: list[torch.Tensor]) -> Any:
        graphs.append(module)
        return module.forward

    captured = minidynamo.compile(function, backend=backend)
    for scale in (1.0, 1.0, -2.0):
        check_equal(observed(captured, inputs(scale)), observed(function, inputs(scale)))
    assert len(graphs) == 2, "both halves are captured once"


def test_an_error_inside_puts_the_kernels_back() -> None:
    def fails(x: torch.Tensor) -> Any:
        with sdpa_kernel(SDPBackend.MATH):
            y = x + 1
            raise ValueError(str(tuple(y.shape)))

    for function in (fails, minidynamo.compile(fails, backend="eager")):
        with pytest.raises(ValueError, match=r"\(1, 2, 6, 4\)"):
            function(inputs())


def test_the_profiler_sees_a_range_that_outlives_the_graph() -> None:
    captured = minidynamo.compile(cut_recorded, backend="eager")
    captured(inputs())
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        captured(inputs())
    assert "cut" in {event.name for event in profile.events()}


def test_a_context_from_outside_is_entered_in_python() -> None:
    context = torch._C.DisableTorchFunctionSubclass()

    def enters(x: torch.Tensor) -> Any:
        with context:
            y = x + torch._C._is_torch_function_enabled()
        return y * 2

    captured = minidynamo.compile(enters, backend="eager")
    check_equal(captured(torch.ones(2)), enters(torch.ones(2)))
    check_equal(captured(torch.ones(2)), enters(torch.ones(2)))


def test_the_kernels_around_a_call_are_guarded() -> None:
    captured = minidynamo.compile(math_kernel, backend="eager", fullgraph=True)
    check_equal(observed(captured, inputs()), observed(math_kernel, inputs()))
    for outer in (contextlib.nullcontext(), sdpa_kernel(SDPBackend.FLASH_ATTENTION)):
        with outer:
            before = states()
            check_equal(captured(inputs()), math_kernel(inputs()))
            assert states() == before


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_views_of_inputs_behind_switched_on_gradients(backend: str) -> None:
    """A graph that begins where nothing is recorded for autograd, and switches that on: its views of inputs have a history."""

    def f(y: torch.Tensor) -> Any:
        for _ in range(2):
            with torch.set_grad_enabled(False):
                minidynamo.graph_break()
                a = torch.ones(2)
            x = y[0]
        return x, a, torch.is_grad_enabled()

    captured = minidynamo.compile(f, backend=backend)
    for _ in range(2):
        y = torch.eye(2, requires_grad=True)
        with torch.no_grad():
            assert captured(y)[2] is False
        x, a, on = captured(y)
        assert on and not a.requires_grad
        assert x.requires_grad and not x.is_leaf
        x.sum().backward()
        assert y.grad is not None and y.grad.tolist() == [[1, 1], [0, 0]]
