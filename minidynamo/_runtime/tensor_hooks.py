"""Hooks on gradients: what graphs call to put them on tensors inside of them, and what a trace below autograd does with its fakes."""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.fx.node import has_side_effect
from torch.utils.hooks import RemovableHandle

Hook = Callable[..., torch.Tensor]


@has_side_effect  # so that no pass takes it for dead code
def register_hook(tensor: torch.Tensor, hook: Hook, *captured: torch.Tensor) -> None:
    """Puts a hook on a tensor."""
    tensor.register_hook(lambda gradient: hook(gradient, *captured))  # type: ignore[no-untyped-call]


class _Mark:
    """Cannot be made again outside of the trace, nor can what holds it: its hooks are on no tensor there."""

    def __reduce__(self) -> Any:
        raise TypeError("a hook of a trace")


class Handle(RemovableHandle):
    """The program's handle, in a trace, of a hook on a tensor that the trace made: no global counter numbers it."""

    def __init__(self, hooks: dict[int, Any], key: int) -> None:
        self.hooks, self.id, self.mark = hooks, key, _Mark()

    def remove(self) -> None:
        """Takes the hook away."""
        self.hooks.pop(self.id, None)

    def __enter__(self) -> "Handle":
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


def add_to(hooks: dict[int, Any], hook: Any) -> Handle:
    """Adds a hook behind others."""
    key = max(hooks, default=-1) + 1
    hooks[key] = hook
    return Handle(hooks, key)


def add_hook(tensor: Any, hook: Any) -> Handle:
    """Tensor.register_hook."""
    if tensor._backward_hooks is None:
        tensor._backward_hooks = OrderedDict()
        if tensor.grad_fn is not None:
            tensor.grad_fn._register_hook_dict(tensor)
    return add_to(tensor._backward_hooks, hook)


def add_later_hook(tensor: Any, hook: Any) -> Handle:
    """Tensor.register_post_accumulate_grad_hook."""
    if tensor._post_accumulate_grad_hooks is None:
        tensor._post_accumulate_grad_hooks = OrderedDict()
    return add_to(tensor._post_accumulate_grad_hooks, hook)


def list_hooks(hooks: dict[int, Any]) -> list[Any]:
    """The hooks of a tensor in the order in which they are called."""
    return list(hooks.values())


def set_hooks(leaf: Any, hooks: Iterable[Any]) -> None:
    """Sets these hooks on a leaf, and no others."""
    leaf._backward_hooks = OrderedDict(enumerate(hooks))


def set_later_hooks(leaf: Any, hooks: Iterable[Any]) -> None:
    """Sets these hooks on a leaf behind the accumulation of its gradient, and no others."""
    leaf._post_accumulate_grad_hooks = OrderedDict(enumerate(hooks))
