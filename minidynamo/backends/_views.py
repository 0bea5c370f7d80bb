"""Results of a compiled graph that are views, with the place in autograd's graph that they have eagerly.

AOTAutograd makes a result that is a view of an input, or of another result, again from that tensor behind the compiled graph, in the
grad mode that the call ends in. A program may have made it in another one.
"""

import functools
from collections.abc import Callable
from typing import Any

import torch

from minidynamo._artifacts.runtime import in_its_place
from minidynamo.backends._registry import CompiledFunction


def with_views_of_grad_mode(compiled: CompiledFunction) -> CompiledFunction:
    """AOTAutograd runs a graph that needs no gradient without autograd, which marks views so that they cannot be written to later on.
    Where autograd is on, results are the views that they would be eagerly."""

    def call(*inputs: Any) -> Any:
        results = compiled(*inputs)
        if not torch.is_grad_enabled():
            return results
        return [_view_of_grad_mode(x) if type(x) is torch.Tensor and x._is_view() else x for x in results]

    return call


def _view_of_grad_mode(view: torch.Tensor) -> torch.Tensor:
    base = view._base
    if view.grad_fn is not None or base is None or base.requires_grad or base.dtype != view.dtype:
        return view
    return in_its_place(base, view) if _is_of_the_kind_of(base, view) else view


def with_views_without_gradient(graph_module: torch.fx.GraphModule) -> Callable[[CompiledFunction], CompiledFunction]:
    """A view that was made under `torch.no_grad()` of a tensor that requires a gradient passes none on to it. Made again where
    autograd is on, it would: the parameter behind it would get a gradient that it does not get eagerly.

    Args:
        graph_module: the graph as it was captured. A compiler may change it.

    Returns:
        A function that makes of the compiled graph one that returns such views.
    """
    with torch._C.DisableTorchFunctionSubclass():  # a class of the program's would hear which attributes are read
        without_gradient = _views_without_gradient(graph_module)
    return functools.partial(_with_views_at, without_gradient) if without_gradient else lambda compiled: compiled


def _with_views_at(without_gradient: list[tuple[int, bool]], compiled: CompiledFunction) -> CompiledFunction:
    def call(*inputs: Any) -> Any:
        results = list(compiled(*inputs))
        with torch._C.DisableTorchFunctionSubclass():
            for place, is_leaf in without_gradient:
                results[place] = _view_without_gradient(results[place], is_leaf)
        return results

    return call


def _views_without_gradient(graph_module: torch.fx.GraphModule) -> list[tuple[int, bool]]:
    """The places of results that pass no gradient on to the tensor that they are a view of, and whether each was made without autograd
    itself, rather than as a view of such a view."""
    results = next(iter(reversed(graph_module.graph.nodes))).args[0]
    if not isinstance(results, list | tuple):
        return []
    found = []
    for place, node in enumerate(results):
        value = node.meta.get("example_value") if isinstance(node, torch.fx.Node) and node.op != "placeholder" else None
        if isinstance(value, torch.Tensor) and value.requires_grad and value._is_view() and not _passes_gradient_on(value):
            found.append((place, value.grad_fn is None))
    return found


def _passes_gradient_on(view: torch.Tensor) -> bool:
    step = view.grad_fn
    if step is None:
        return False
    while step.next_functions:
        before = [function for function, _ in step.next_functions if function is not None]
        if len(before) != 1:
            return bool(before)
        step = before[0]
    return True


def _view_without_gradient(view: torch.Tensor, is_leaf: bool) -> torch.Tensor:
    base = view._base
    if base is None or not base.requires_grad or not _is_of_the_kind_of(base, view):
        return view
    with torch.no_grad():
        remade = in_its_place(base, view)
    return remade if is_leaf else in_its_place(remade, view)


def _is_of_the_kind_of(base: torch.Tensor, view: torch.Tensor) -> bool:
    return not view.is_inference() and view.is_conj() == base.is_conj() and view.is_neg() == base.is_neg()
