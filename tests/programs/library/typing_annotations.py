# graphs: 1
"""Annotated locals, typing.cast and Optional have no effect."""

from typing import Optional, cast

import torch


def f(x: torch.Tensor, scale: Optional[float] = None) -> torch.Tensor:
    factor: float = cast(float, scale or 2.0)
    result: "torch.Tensor" = x * factor
    return result


def inputs():
    return (torch.randn(2),)
