"""Checkpoints: what graphs call in place of torch's operator where one draws random numbers or writes to tensors, and what a trace
with a backward pass runs in place of torch's function.

torch.ops.higher_order.tag_activation_checkpoint leaves it to a compiler behind it (AOTAutograd's partitioner) to give the second
computation the random numbers of the first, and to write once. A backend that runs the graph as it is has no such compiler.
"""

from typing import Any

import torch
from torch._higher_order_ops.wrap import tag_activation_checkpoint
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack
from torch.utils.checkpoint import checkpoint


def checkpoint_impure(body: torch.fx.GraphModule, *operands: Any, **settings: Any) -> Any:
    """Runs `body(*operands)` as torch.utils.checkpoint.checkpoint runs the program's own function.

    Arguments:
        body: the graph of what the program gave to the checkpoint. `body.meta["written_operands"]` has the positions of
            operands that it writes to, such as a norm's running statistics.
        operands: its inputs, tensors of any shapes.
        settings: keywords of torch.utils.checkpoint.checkpoint.

    Returns:
        What `body` returns: a tuple of tensors.
    """
    if _get_current_dispatch_mode_stack():  # a compiler looks at what the graph does
        return tag_activation_checkpoint(body, *operands, **settings)
    context_fn = body.meta.get("_checkpoint_context_fn")
    if context_fn is not None:
        settings["context_fn"] = context_fn

    # A checkpoint watches its arguments for writes. In the program, what is written to is no argument, but a module's.
    written = {position: operands[position] for position in body.meta.get("written_operands", ())}

    # `forward`, since a call of the module would say on stderr where an error comes from.
    def run(*given: Any) -> Any:
        rest = iter(given)
        values = [written[i] if i in written else next(rest) for i in range(len(operands))]
        return body.forward(*values)

    arguments = [operand for i, operand in enumerate(operands) if i not in written]
    return checkpoint(run, *arguments, use_reentrant=False, **settings)


class Stop(Exception):
    """All that a checkpoint has saved is computed again."""


def is_checkpoint_valid() -> bool:
    """True while a backward pass is running that accumulates the gradients of all leaves."""
    raise NotImplementedError("a trace answers this")


def random_position() -> int:
    """Where a trace stands in the stream of random numbers."""
    raise NotImplementedError("a trace answers this")


def go_to_random_position(position: int) -> None:
    """Goes on with the random numbers that came after a position."""
    raise NotImplementedError("a trace does this")


def autocast_now() -> dict[str, Any] | None:
    """The settings of autocast. None: it is on for another device than the CPU."""
    if torch.is_autocast_enabled("cuda"):
        return None
    return {
        "enabled": torch.is_autocast_enabled("cpu"),
        "dtype": torch.get_autocast_dtype("cpu"),
        "cache_enabled": torch.is_autocast_cache_enabled(),
    }


def compute_again(function: Any, values: tuple[Any, ...], keywords: dict[str, Any], autocast: dict[str, Any]) -> None:
    """Calls what a checkpoint was given, for what autograd saves on the way."""
    with torch.enable_grad(), torch.autocast("cpu", **autocast):
        function(*values, **keywords)


class Reentrant(torch.autograd.Function):
    """A checkpoint that differentiates its function within the backward pass."""

    @staticmethod
    def forward(ctx: Any, function: Any, keeps_random_state: bool, autocast: dict[str, Any], *inputs: Any) -> Any:
        ctx.function, ctx.autocast = function, autocast
        ctx.start = random_position() if keeps_random_state else None
        ctx.others = [None if isinstance(one, torch.Tensor) else one for one in inputs]
        ctx.are_tensors = [isinstance(one, torch.Tensor) for one in inputs]
        ctx.save_for_backward(*[one for one in inputs if isinstance(one, torch.Tensor)])
        with torch.no_grad():
            return function(*inputs)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        if not is_checkpoint_valid():
            raise RuntimeError("a reentrant checkpoint cannot give the gradients of chosen inputs")
        tensors = iter(ctx.saved_tensors)
        inputs = []
        for other, is_tensor in zip(ctx.others, ctx.are_tensors, strict=True):
            given = next(tensors) if is_tensor else other
            inputs.append(given.detach().requires_grad_(given.requires_grad) if is_tensor else given)
        now = random_position()
        if ctx.start is not None:
            go_to_random_position(ctx.start)
        with torch.enable_grad(), torch.autocast("cpu", **ctx.autocast):
            outputs = ctx.function(*inputs)
        if ctx.start is not None:
            go_to_random_position(now)
        if isinstance(outputs, torch.Tensor):
            outputs = (outputs,)
        roots = [i for i, one in enumerate(outputs) if isinstance(one, torch.Tensor) and one.requires_grad]
        if not roots:
            raise RuntimeError("none of the results of a checkpoint requires a gradient")
        torch.autograd.backward([outputs[i] for i in roots], [gradients[i] for i in roots])
        return (None, None, None, *[one.grad if isinstance(one, torch.Tensor) else None for one in inputs])
