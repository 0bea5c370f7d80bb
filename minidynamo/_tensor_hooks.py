"""What graphs call to put hooks on tensors inside of them."""

from collections.abc import Callable

import torch
from torch.fx.node import has_side_effect

Hook = Callable[..., torch.Tensor]


def as_hook(module: torch.fx.GraphModule) -> Hook:
    """A function of a gradient, and of tensors of the graph around it, that runs the graph of a hook."""

    def hook(gradient: torch.Tensor, *captured: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = module(gradient, *captured)[0]
        return result

    return hook


@has_side_effect  # so that no pass takes it for dead code
def register_hook(tensor: torch.Tensor, hook: Hook, *captured: torch.Tensor) -> None:
    """Puts a hook on a tensor."""
    tensor.register_hook(lambda gradient: hook(gradient, *captured))  # type: ignore[no-untyped-call]
