"""Sums with a factor that a graph computes: torch wants a Python number there.

Run as they are, these read the number, so that a sum rounds as it does with a number. Whatever looks at the operators beneath (AOTAutograd,
a TorchScript trace) sees a product and a sum.
"""

from collections.abc import Sequence

import torch


def _is_run(factor: torch.Tensor) -> bool:
    return type(factor) is torch.Tensor and not torch._C._is_tracing()


def add(x: torch.Tensor, y: torch.Tensor, factor: torch.Tensor) -> torch.Tensor:
    """`x.add(y, alpha=factor)`, with a tensor without dimensions."""
    return x.add(y, alpha=factor.item()) if _is_run(factor) else x.add(y * factor)


def add_(x: torch.Tensor, y: torch.Tensor, factor: torch.Tensor) -> torch.Tensor:
    """`x.add_(y, alpha=factor)`, with a tensor without dimensions."""
    return x.add_(y, alpha=factor.item()) if _is_run(factor) else x.add_(y * factor)


def foreach_add_(xs: Sequence[torch.Tensor], ys: Sequence[torch.Tensor], factor: torch.Tensor) -> None:
    """The same for each pair, in place."""
    for x, y in zip(xs, ys, strict=True):
        add_(x, y, factor)
