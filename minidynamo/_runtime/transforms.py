"""Replaces torch's own code in a trace where a transform of torch.func meets an operator for control flow."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._C._functorch import _add_batch_dim
from torch._functorch.vmap import unwrap_batched
from torch._higher_order_ops.cond import cond_op
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

from minidynamo._runtime.autograd_function import Level, innermost


def cond(predicate: Any, if_true: Callable[..., Any], if_false: Callable[..., Any], operands: Sequence[torch.Tensor]) -> Any:
    """Runs `torch.cond` where levels of torch.func are open: at the innermost one first, then at the next.

    Under vmap both branches are computed, and each row takes what its predicate tells; if the predicate is the same for all rows,
    the operator decides as it does elsewhere.

    Arguments:
        predicate: a tensor of one boolean, for each row of the level one.
        if_true: computes tensors from the operands.
        if_false: the same.
        operands: tensors of any shapes.

    Returns:
        The result of the branches.
    """
    kind, number, grad_mode, batch_size, randomness = innermost()
    if kind != "Vmap":
        refuse_level()
    level = Level(number, grad_mode, batch_size, randomness)
    (mapped, *rows), dims = unwrap_batched((predicate, *operands), number)

    def chosen(predicate: torch.Tensor, *operands: torch.Tensor) -> Any:
        true, spec = tree_flatten(if_true(*operands))
        false, other_spec = tree_flatten(if_false(*operands))
        if spec != other_spec or len(true) != 1:  # torch's rule returns the first one alone
            refuse_level()
        return tree_unflatten([torch.where(predicate, one, other) for one, other in zip(true, false)], spec)

    with level.lower():
        if dims[0] is not None:
            result = torch.vmap(chosen, in_dims=dims, randomness=randomness)(mapped, *rows)
        else:
            vmapped = [torch.vmap(branch, in_dims=dims[1:], randomness=randomness) for branch in (if_true, if_false)]
            result = cond_op(mapped, *vmapped, tuple(rows))  # type: ignore[call-arg]
    return tree_map(lambda one: _add_batch_dim(one, 0, number), result)


def refuse_level() -> None:
    """Ends a trace: torch has no rule for the operator within this level."""
