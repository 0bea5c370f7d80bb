"""Collectives of torch.distributed as a trace runs them: on the functional operators, which are nodes of a graph.

Each function stands in for the one of its name in torch.distributed, and returns the same: it writes to its tensor arguments,
without a gradient. A collective that has no functional operator, and handles of asynchronous calls, are left to torch's own
function, which ends the graph.
"""

import warnings
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch.distributed import distributed_c10d as c10d

REDUCTIONS = frozenset({"SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR"})


def _itself(function: Callable[..., Any]) -> Callable[..., Any]:
    """torch's function, beneath what names it to a trace."""
    return function.__wrapped__  # type: ignore[attr-defined, no-any-return]


def _has_history(tensor: torch.Tensor) -> bool:
    # Eagerly, a collective writes to a tensor without autograd seeing it.
    return tensor.requires_grad and torch.is_grad_enabled()


def _is_outside(group: dist.ProcessGroup | None, name: str) -> bool:
    if not c10d._rank_not_in_group(group):
        return False
    c10d._warn_not_in_group(name)
    return True


def _warn_that_deprecated(function: Any) -> None:
    if hasattr(function, "__deprecated__"):  # it is not in every version of torch
        warnings.warn(function.__deprecated__, FutureWarning, stacklevel=3)


def _reduction(op: Any) -> str | None:
    name = getattr(op, "name", None)
    return name.lower() if name in REDUCTIONS else None


def _real(tensor: torch.Tensor) -> torch.Tensor:
    return torch.view_as_real(tensor) if tensor.is_complex() else tensor


def all_reduce(tensor: torch.Tensor, op: Any = dist.ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Any:
    reduction = _reduction(op)
    if async_op or reduction is None or _has_history(tensor) or tensor.is_sparse:
        return _itself(c10d.all_reduce)(tensor, op, group, async_op)
    if _is_outside(group, "all_reduce"):
        return None
    with torch.no_grad():
        tensor = _real(tensor)
        tensor.copy_(functional.all_reduce(tensor, reduction, c10d._group_or_default_group(group)))
    return None


def broadcast(tensor: torch.Tensor, src: int | None = None, group: Any = None, async_op: bool = False, group_src: int | None = None) -> Any:
    if async_op or _has_history(tensor) or tensor.is_sparse:
        return _itself(c10d.broadcast)(tensor, src, group, async_op, group_src)
    group = c10d._group_or_default_group(group)
    source = c10d._canonicalize_group_rank(group, src, group_src, return_global=False)
    if _is_outside(group, "broadcast"):
        return None
    with torch.no_grad():
        tensor = _real(tensor)
        tensor.copy_(functional.broadcast(tensor, source, group))
    return None


def all_gather(tensor_list: list[torch.Tensor], tensor: torch.Tensor, group: Any = None, async_op: bool = False) -> Any:
    is_even = all(out.shape == tensor.shape and out.dtype == tensor.dtype and not _has_history(out) for out in tensor_list)
    if async_op or not is_even:
        return _itself(c10d.all_gather)(tensor_list, tensor, group, async_op)
    if _is_outside(group, "all_gather"):
        return None
    with torch.no_grad():
        gathered = functional.all_gather_tensor(_real(tensor).contiguous().unsqueeze(0), 0, c10d._group_or_default_group(group))
        for out, part in zip(tensor_list, gathered.unbind(0), strict=True):
            _real(out).copy_(part)
    return None


def all_gather_single(output_tensor: torch.Tensor, input_tensor: torch.Tensor, group: Any = None, async_op: bool = False) -> Any:
    if async_op or _has_history(output_tensor) or output_tensor.dtype != input_tensor.dtype:
        return _itself(c10d.all_gather_single)(output_tensor, input_tensor, group, async_op)
    if _is_outside(group, "all_gather_single"):
        return None
    with torch.no_grad():
        out = _real(output_tensor)
        gathered = functional.all_gather_tensor(_real(input_tensor).contiguous().unsqueeze(0), 0, c10d._group_or_default_group(group))
        out.copy_(gathered.view(out.shape))
    return None


def all_gather_into_tensor(*arguments: Any, **keywords: Any) -> Any:
    _warn_that_deprecated(c10d.all_gather_into_tensor)
    return all_gather_single(*arguments, **keywords)


def reduce_scatter_single(
    output: torch.Tensor, input: torch.Tensor, op: Any = dist.ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Any:
    reduction = _reduction(op)
    if async_op or reduction is None or _has_history(output) or output.dtype != input.dtype or output.dim() == 0:
        return _itself(c10d.reduce_scatter_single)(output, input, op, group, async_op)
    if _is_outside(group, "reduce_scatter_single"):
        return None
    with torch.no_grad():
        out = _real(output)
        parts = _real(input).contiguous().view(-1, *out.shape[1:])
        out.copy_(functional.reduce_scatter_tensor(parts, reduction, 0, c10d._group_or_default_group(group)))
    return None


def reduce_scatter_tensor(*arguments: Any, **keywords: Any) -> Any:
    _warn_that_deprecated(c10d.reduce_scatter_tensor)
    return reduce_scatter_single(*arguments, **keywords)


def all_to_all_single(
    output: torch.Tensor,
    input: torch.Tensor,
    output_split_sizes: list[int] | None = None,
    input_split_sizes: list[int] | None = None,
    group: Any = None,
    async_op: bool = False,
) -> Any:
    if async_op or _has_history(output) or output.dtype != input.dtype:
        return _itself(c10d.all_to_all_single)(output, input, output_split_sizes, input_split_sizes, group, async_op)
    if _is_outside(group, "all_to_all_single"):
        return None
    with torch.no_grad():
        out = _real(output)
        sent = functional.all_to_all_single(
            _real(input).contiguous(), output_split_sizes, input_split_sizes, c10d._group_or_default_group(group)
        )
        out.copy_(sent)
    return None
