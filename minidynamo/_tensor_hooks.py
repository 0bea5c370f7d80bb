"""What graphs call to put hooks on tensors inside of them."""

from collections.abc import Callable

import torch
from torch.fx.node import has_side_effect

Hook = Callable[..., torch.Tensor]


@has_side_effect  # so that no pass takes it for dead code
def register_hook(tensor: torch.Tensor, hook: Hook, *captured: torch.Tensor) -> None:
    """Puts a hook on a tensor."""
    tensor.register_hook(lambda gradient: hook(gradient, *captured))  # type: ignore[no-untyped-call]
