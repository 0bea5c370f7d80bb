"""The backend `ts`."""

import warnings
from collections.abc import Callable, Sequence

import torch

from minidynamo.backends._eager import eager
from minidynamo.backends._function_writer import target_name
from minidynamo.backends._registry import CompiledFunction


def ts(graph_module: torch.fx.GraphModule, example_inputs: list[torch.Tensor]) -> CompiledFunction:
    """TorchScript, by tracing the graph with copies of the example inputs.

    Refuses (NotImplementedError) graphs that switch grad mode, autocast or inference mode, call autograd or change
    requires_grad: a TorchScript trace does not record these.
    """
    for node in graph_module.graph.nodes:
        if node.op in ("call_function", "call_method") and target_name(node) in _UNTRACEABLE:
            raise NotImplementedError(f"a TorchScript trace does not record {target_name(node)}")
    if "open_sizes" in graph_module.meta:
        graph_module.meta["size_conditions"] = None  # a trace has the sizes that it was made with
    outputs = graph_module.graph.output_node().args[0]
    if not isinstance(outputs, (tuple, list)) or not outputs:
        raise NotImplementedError("TorchScript needs a graph that returns at least one tensor")
    copies = [x.detach().clone().requires_grad_(x.requires_grad) for x in example_inputs]
    run = eager(graph_module, example_inputs)
    with warnings.catch_warnings(), torch.random.fork_rng(devices=_cuda_devices(example_inputs)):
        warnings.simplefilter("ignore")
        trace: Callable[..., CompiledFunction] = torch.jit.trace
        return trace(run, tuple(copies), check_trace=False)


# Functions that change what later operations mean, or ask autograd, without being operators.
_UNTRACEABLE = frozenset(
    {
        "_enter_autocast",
        "_enter_inference_mode",
        "_exit_autocast",
        "_exit_inference_mode",
        "_set_grad_enabled",
        "autocast_decrement_nesting",
        "autocast_increment_nesting",
        "backward",
        "grad",
        "is_grad_enabled",
        "requires_grad_",
        "set_autocast_cache_enabled",
        "set_autocast_dtype",
        "set_autocast_enabled",
        "set_grad_enabled",
    }
)


def _cuda_devices(tensors: Sequence[torch.Tensor]) -> list[int]:
    return sorted({x.device.index for x in tensors if x.device.type == "cuda"})
