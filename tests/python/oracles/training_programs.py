"""Helpers of programs that train: a small net and its input, and how what they leave is compared."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

Capture = Callable[[Callable[..., Any]], Callable[..., Any]]
Program = Callable[[Capture], tuple[Callable[[], Any], Callable[[], Any]]]
"""Is given what captures a function, and makes a step and what shows its effects."""

X = torch.arange(12.0).reshape(3, 4) / 7


def net() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))


def gradients(module: nn.Module) -> list[Any]:
    return [None if p.grad is None else p.grad.clone() for p in module.parameters()]


def plain(value: Any) -> Any:
    """The comparable form of a program's result."""
    if isinstance(value, torch.Tensor):
        return value.detach().tolist(), value.requires_grad, value.is_leaf, value.dtype, value.is_sparse
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value
