"""Memory layouts that a trace takes results to have: as the real kernels give them, or the trace ends there.

A part of the sweep ``opinfo_layouts.py``, and programs whose branches depend on layouts.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import opinfo_layouts
import opinfo_oracle
import pytest
import torch
import torch.nn.functional as F

import minidynamo

SWEPT = (
    "nn.functional.conv2d", "nn.functional.conv_transpose1d", "nn.functional.batch_norm", "nn.functional.pad.reflect",
    "nn.functional.pixel_shuffle", "native_layer_norm", "nn.functional.group_norm", "roll", "add", "mul", "logical_and", "sum", "addmv",
)  # fmt: skip


def test_part_of_the_sweep() -> None:
    results = opinfo_oracle.run(list(SWEPT), limit=2, script=opinfo_layouts.__file__)
    operators = opinfo_layouts.merged(results)
    assert {name: entry["problems"] for name, entry in operators.items() if entry["counts"]["different"]} == {}
    assert sum(entry["counts"]["same"] for entry in operators.values()) > 1000


def last(shape: tuple[int, ...]) -> torch.Tensor:
    return torch.randn(shape).contiguous(memory_format=torch.channels_last)


def gaps(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, 2)[..., 0]


def gradient_of_group_norm(x: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
    return torch.autograd.grad(F.group_norm(x, 2), x, gradient)[0]


# Each returns a tensor of whose layout the answer depends.
OPERATORS: dict[str, tuple[Callable[..., torch.Tensor], Callable[[], tuple[torch.Tensor, ...]]]] = {
    "conv_input": (F.conv2d, lambda: (last((2, 3, 8, 8)), torch.randn(4, 3, 3, 3))),
    "conv_weight": (F.conv2d, lambda: (torch.randn(2, 3, 8, 8), last((4, 3, 3, 3)))),
    "conv_transposed_weight": (F.conv_transpose2d, lambda: (torch.randn(2, 3, 8, 8), last((3, 4, 3, 3)))),
    "conv_of_sequence": (F.conv1d, lambda: (torch.randn(2, 8, 3).transpose(1, 2), torch.randn(4, 3, 3).transpose(1, 2))),
    "reflection": (lambda x: F.pad(x, (1, 1, 1, 1), mode="reflect"), lambda: (last((2, 3, 5, 5)),)),
    "replication": (lambda x: F.pad(x, (1, 1, 1, 1), mode="replicate"), lambda: (last((2, 3, 5, 5)),)),
    "roll": (lambda x: torch.roll(x, 1, 1), lambda: (torch.randn(4, 6).t(),)),
    "one_hot": (lambda x: F.one_hot(x.long().clamp(0, 1), 3), lambda: (torch.randn(4, 6).t(),)),
    "batch_norm": (lambda x: F.batch_norm(x, torch.zeros(4), torch.ones(4)), lambda: (torch.randn(5, 4, 3).permute(2, 1, 0),)),
    "group_norm": (lambda x: F.group_norm(x, 2), lambda: (last((2, 4, 3, 5)),)),
    "group_norm_of_sequence": (lambda x: F.group_norm(x, 2), lambda: (torch.randn(2, 3, 4).transpose(1, 2),)),
    "group_norm_backward": (gradient_of_group_norm, lambda: (last((1, 4, 3, 5)).requires_grad_(), last((1, 4, 3, 5)))),
    "batch_norm_of_one_channel": (lambda x: F.batch_norm(x, torch.zeros(1), torch.ones(1)), lambda: (last((3, 1, 2, 5)),)),
    "roll_of_image": (lambda x: torch.roll(x, 1, 2), lambda: (last((2, 4, 3, 5)),)),
    "rolls_of_image": (lambda x: torch.roll(x, (1, -2), (0, 3)), lambda: (last((2, 4, 3, 5)),)),
    "fft_of_four_dimensions": (lambda x: torch.fft.fftn(x), lambda: (torch.randn(5, 4, 3, 2, dtype=torch.complex64),)),
    "two_dtypes": (torch.mul, lambda: (torch.randn(1).expand(5, 2, 3, 4), last((5, 2, 3, 4)).double())),
    "comparison_of_two_dtypes": (torch.lt, lambda: (torch.randn(1).expand(5, 2, 3, 4), last((5, 2, 3, 4)).double())),
    "division_of_integers": (torch.div, lambda: (torch.ones(1).int().expand(5, 2, 3, 4), last((5, 2, 3, 4)).int())),
    "size_of_1": (torch.add, lambda: (torch.randn(4, 3, 3, 1).permute(0, 3, 1, 2), torch.randn(4, 3, 3, 1).permute(0, 3, 1, 2))),
    "size_of_0": (lambda x: x.sum(0, keepdim=True), lambda: (torch.randn(0, 0, 5),)),
    "like_with_gaps": (torch.ones_like, lambda: (gaps(1, 1, 5),)),
    "integers": (lambda x: x.long() // 2, lambda: (torch.randn(4, 6).t(),)),
    "logical": (torch.logical_and, lambda: (torch.ones(10, 1, 5), torch.ones(5, 10).t())),
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATORS)
def test_branch_on_a_layout(name: str) -> None:
    operator, make = OPERATORS[name]

    def branch(*arguments: torch.Tensor) -> tuple[torch.Tensor, tuple[int, ...]]:
        result = operator(*arguments)
        return (result + 1 if result.is_contiguous() else result + 100), result.stride()

    captured = minidynamo.compile(branch, backend="eager")
    arguments = make()
    for _ in range(2):
        result, strides = captured(*arguments)
        expected, expected_strides = branch(*arguments)
        assert torch.equal(result, expected)
        assert (strides, result.stride()) == (expected_strides, expected.stride())


MIXED: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "addr": lambda x, y: torch.addr(y[0], x, x),
    "huber_loss": lambda x, y: torch.ops.aten.huber_loss(x, y),
    "soft_margin_loss": lambda x, y: F.soft_margin_loss(x, y),
    "soft_margin_loss_backward": lambda x, y: torch.ops.aten.soft_margin_loss_backward(x, x, y, 1),
    "mse_loss_backward": lambda x, y: torch.ops.aten.mse_loss_backward(y, x, y, 1),
    "smooth_l1_loss_backward": lambda x, y: torch.ops.aten.smooth_l1_loss_backward(y, x, y, 1, 1.0),
}


@pytest.mark.parametrize("name", MIXED)
def test_dtype_of_several(name: str) -> None:
    """The real kernel of each makes another dtype than its meta kernel says."""

    def branch(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.dtype]:
        result = MIXED[name](x, y)
        return result * 2, result.dtype

    arguments = torch.ones(5), torch.ones(5, dtype=torch.float64)
    result, dtype = minidynamo.compile(branch, backend="eager")(*arguments)
    expected, expected_dtype = branch(*arguments)
    assert (dtype, result.dtype) == (expected_dtype, expected.dtype)
    assert torch.equal(result, expected)


def test_training_step_of_channels_last() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.ReflectionPad2d(1),
        torch.nn.ConvTranspose2d(8, 4, 3), torch.nn.Flatten(), torch.nn.LazyLinear(5),
    )  # fmt: skip
    model(torch.randn(2, 3, 10, 10))
    model = model.to(memory_format=torch.channels_last)
    other = copy.deepcopy(model)

    def step(model: torch.nn.Module, optimizer: torch.optim.Optimizer, x: torch.Tensor) -> Any:
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach(), [p.grad.stride() for p in model.parameters() if p.grad is not None]

    captured = minidynamo.compile(step, backend="eager")
    optimizers = [torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9) for m in (model, other)]
    for seed in range(3):
        torch.manual_seed(seed)
        x = last((2, 3, 10, 10))
        loss, strides = captured(model, optimizers[0], x)
        expected, expected_strides = step(other, optimizers[1], x)
        assert torch.equal(loss, expected)
        assert strides == expected_strides
    for one, two in zip(model.state_dict().values(), other.state_dict().values(), strict=True):
        assert torch.equal(one, two)


def test_a_kernel_that_is_too_large_to_be_asked_is_a_break() -> None:
    def flipped(x: torch.Tensor) -> torch.Tensor:
        return x.flip(0) + 1

    x = torch.randn(2200, 2200).t()
    captured = minidynamo.compile(flipped, backend="eager")
    assert torch.equal(captured(x), flipped(x))
    assert any("memory layout" in str(record) for record in minidynamo.debug.graph_breaks())


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_is_same_size_is_guarded(backend: str) -> None:
    def same(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + 1 if x.is_same_size(y) else x + 100

    captured = minidynamo.compile(same, backend=backend, fullgraph=True)
    for shapes in ("3 4", "5 6", "7 7", "8 8", "9 8", "2,3 2,3", "2,4 2,5", "4,4 4,4"):
        x, y = (torch.randn([int(size) for size in shape.split(",")]) for shape in shapes.split())
        assert torch.equal(captured(x, y), same(x, y))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("dynamic", [None, True])
def test_out_that_is_resized(backend: str, dynamic: bool | None) -> None:
    def inside(x: torch.Tensor) -> tuple[torch.Tensor, torch.Size]:
        out = torch.empty(0)
        torch.add(x, 1, out=out)
        return out * 2, out.shape

    def outside(x: torch.Tensor, out: torch.Tensor) -> tuple[torch.Tensor, torch.Size]:
        torch.add(x, 1, out=out)
        return out * 2, out.shape

    minidynamo.reset()
    captured_inside = minidynamo.compile(inside, backend=backend, dynamic=dynamic)
    captured_outside = minidynamo.compile(outside, backend=backend, dynamic=dynamic)
    for n in (3, 4, 5, 6):
        x, out = torch.randn(n), torch.empty(0)
        result, shape = captured_inside(x)
        assert torch.equal(result, (x + 1) * 2)
        assert shape == (n,)
        result, shape = captured_outside(x, out)
        assert torch.equal(result, (x + 1) * 2)
        assert shape == out.shape == (n,)
        assert torch.equal(out, x + 1)
