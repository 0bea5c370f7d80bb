"""The code that a written file runs: it builds the graph, compiles it with the backend, and compares it with the graph run eagerly."""

import importlib
import math
import operator
import pathlib
import sys
from collections.abc import Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from minidynamo import backends
from minidynamo._repro.form import digest, text
from minidynamo._verify.comparison import Tolerance
from minidynamo._verify.graphs import compare, copied

ROUNDING: dict[str, Any] = {"floor": math.floor, "ceil": math.ceil, "round": round}

_tracers: list[torch.fx.Tracer] = []
_storages: dict[int, torch.UntypedStorage] = {}


def tensor(
    shape: tuple[int, ...],
    stride: tuple[int, ...],
    dtype: torch.dtype,
    *,
    device: str,
    requires_grad: bool,
    low: int,
    high: int,
    storage: int,
    offset: int,
    nbytes: int,
    is_parameter: bool,
) -> torch.Tensor:
    """A tensor of this kind, with random values; whole numbers lie between `low` and `high`. Equal `storage`: the same memory."""
    is_new = storage not in _storages
    memory = _storages.setdefault(storage, torch.UntypedStorage(nbytes, device=device))  # type: ignore[no-untyped-call]
    made = torch.empty(0, dtype=dtype, device=device).set_(memory, offset, shape, stride)
    if is_new:
        whole = torch.empty(0, dtype=dtype, device=device).set_(memory)
        if dtype.is_floating_point or dtype.is_complex:
            whole.copy_(torch.randn(whole.shape, dtype=torch.complex64 if dtype.is_complex else torch.float32))
        else:
            whole.copy_(torch.randint(low, high + 1, whole.shape))
    return torch.nn.Parameter(made, requires_grad) if is_parameter else made.requires_grad_(requires_grad)


def call_higher_order(operator: Any, *args: Any, **kwargs: Any) -> Any:
    """Calls an operator that takes no proxies; while a graph is built the call becomes a node."""
    if _tracers:
        return _tracers[-1].create_proxy("call_function", operator, args, kwargs)
    return operator(*args, **kwargs)


def rounded(name: str, number: Any) -> Any:
    """Calls a function that makes an integer of a float, and takes no proxy."""
    return call_higher_order(ROUNDING[name], number)


def in_place(name: str, *args: Any) -> Any:
    """Calls a function of the module `operator` that changes its first argument, such as "setitem"."""
    return call_higher_order(getattr(operator, name), *args)


def constant(
    values: Any, shape: tuple[int, ...], dtype: torch.dtype, *, device: str, requires_grad: bool, is_parameter: bool
) -> torch.Tensor:
    """A tensor with these values, which a graph holds."""
    made = torch.tensor(values, dtype=dtype, device=device).reshape(shape)
    return torch.nn.Parameter(made, requires_grad) if is_parameter else made.requires_grad_(requires_grad)


def load(file: str, name: str) -> dict[str, Any]:
    """Loads the objects saved beside a file. They may be of any class, so they are to be trusted as the file itself is."""
    loaded: dict[str, Any] = torch.load(pathlib.Path(file).with_name(name), weights_only=False)
    return loaded


def main(
    module: torch.nn.Module, inputs: list[Any], backend: str, *, settings: dict[str, Any], open_sizes: Sequence[Any], graph: str = ""
) -> None:
    """Runs the backend on the graph; the process ends with an error where it fails, or where the results differ.

    Args:
        graph: a digest of the captured graph, which the graph that is built must have; "" (where somebody has changed it) for any.

    Raises:
        RuntimeError: the graph that was built is not the captured one.
        SystemExit: the compiled graph differs from the graph run eagerly.
    """
    _storages.clear()  # those of this file's inputs, which are made
    graph_module = traced(module)
    if graph and digest(graph_module) != graph:
        raise RuntimeError(
            f"the file builds another graph than the captured one; without graph=... it is used as it is:\n{text(graph_module)}"
        )
    if open_sizes:
        graph_module.meta["open_sizes"] = open_sizes
    chosen: Any = backend
    if ":" in backend:
        place, _, name = backend.partition(":")
        chosen = getattr(importlib.import_module(place), name)
    kept = copied(graph_module)
    compiled = backends.resolve(chosen, **settings)(graph_module, list(inputs))
    if graph_module.meta.get("size_conditions", ()) is None:
        raise RuntimeError("the backend failed for sizes that may differ at the next call")
    tolerance = Tolerance(None, None, exact=backend in ("eager", "aot_eager", "python"))
    _, difference = compare(kept, compiled, tuple(inputs), tolerance)
    if difference is not None:
        sys.exit(f"the compiled graph differs from the graph run eagerly: {difference}")
    print("the compiled graph equals the graph run eagerly")


def traced(module: torch.nn.Module) -> torch.fx.GraphModule:
    """The graph of a module that was written from one. Unlike symbolic_trace, also calls without a tensor become operators."""
    for name, child in list(module.named_children()):
        setattr(module, name, traced(child))
    tracer = _Tracer()
    _tracers.append(tracer)
    try:
        with _Recording(tracer):
            graph = tracer.trace(module)
    finally:
        _tracers.pop()
    return torch.fx.GraphModule(module, graph)


class _Recording(TorchFunctionMode):
    """Each call of torch's becomes a node."""

    def __init__(self, tracer: torch.fx.Tracer) -> None:
        super().__init__()
        self._tracer = tracer

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if not hasattr(self._tracer, "graph"):
            return func(*args, **(kwargs or {}))
        return self._tracer.create_proxy("call_function", func, args, kwargs or {})


class _Tracer(torch.fx.Tracer):
    """Graphs that an operator runs are its arguments, as get_attr nodes; so are tensors that the graph holds."""

    proxy_buffer_attributes = True

    def create_arg(self, a: Any) -> Any:
        if isinstance(a, torch.fx.GraphModule):
            return self.create_node("get_attr", self.path_of_module(a), (), {})
        return super().create_arg(a)
