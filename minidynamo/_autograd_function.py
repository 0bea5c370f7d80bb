"""What a trace uses in place of torch's C code where it meets an autograd.Function."""

from collections.abc import Sequence
from typing import Any

import torch
from torch.autograd.function import FunctionCtx

# What else a real ctx has: it is a node of autograd's graph, which a trace has not got.
_OF_GRAPH_NODES = frozenset(name for name in dir(torch._C._FunctionBase) if not name.startswith("__"))


class Context(FunctionCtx):
    """The `ctx` of a function that is traced: an ordinary object."""

    def __init__(self, needs_input_grad: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs_input_grad
        self.saved_tensors: tuple[Any, ...] = ()

    def __getattr__(self, name: str) -> Any:
        if name in _OF_GRAPH_NODES:
            ask_graph_node(name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")


def ask_graph_node(name: str) -> None:
    """Ends a trace: `ctx` is asked for something that only a node of autograd's graph knows."""


class _Results(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, results: Sequence[torch.Tensor], dirty: Sequence[int], constant: Sequence[int], *inputs: torch.Tensor) -> Any:
        if dirty:
            ctx.mark_dirty(*[results[i] for i in dirty])
        if constant:
            ctx.mark_non_differentiable(*[results[i] for i in constant])
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise NotImplementedError("a trace has no backward pass")


def with_history(
    results: Sequence[torch.Tensor], dirty: Sequence[int], constant: Sequence[int], inputs: Sequence[torch.Tensor]
) -> tuple[torch.Tensor, ...]:
    """Gives what a forward computed the history that torch gives to the results of an autograd.Function.

    Arguments:
        results: what the forward returned, tensors of any shapes without a history.
        dirty: positions of those that are inputs which it wrote to.
        constant: positions of those that were marked as not differentiable.
        inputs: the tensors that the function was applied to.

    Returns:
        The tensors that the program gets: mostly the same objects.
    """
    made: tuple[torch.Tensor, ...] = _Results.apply(results, dirty, constant, *inputs)  # type: ignore[no-untyped-call]
    return made
