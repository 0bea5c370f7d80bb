"""A captured graph as AOTAutograd and Inductor want it, and their function without the wrappers around it."""

import copy
from collections.abc import Sequence
from typing import Any

import torch

from minidynamo._capture.tracing_context import InputSource, is_static
from minidynamo.backends._calling import unboxed
from minidynamo.backends._registry import CompiledFunction


def with_described_inputs(graph_module: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> torch.fx.GraphModule:
    """A copy of the graph with what torch.compile tells AOTAutograd and Inductor about the inputs.

    Parameters and buffers are static: their addresses stay from call to call, so that CUDA graphs need not copy them and
    the partitioner may count on them being there in the backward.
    """
    described = copy.deepcopy(graph_module)
    if next(described.parameters(), None) is not None or next(described.buffers(), None) is not None:
        return described  # not a captured graph: AOTAutograd finds its parameters itself
    described.meta["dynamo_compile_id"] = torch._guards.CompileId(frame_id=None, frame_compile_id=None)
    described.__dict__["_param_name_to_source"] = {}
    seen: dict[str, int] = {}
    for node, example in zip(described.graph.find_nodes(op="placeholder"), example_inputs, strict=True):
        text = str(node.meta.get("source", node.target))
        number = seen[text] = seen.get(text, 0) + 1  # values under keys that are objects have one text
        node._dynamo_source = InputSource(text if number == 1 else f"{text} #{number}")
        if is_static(example, text):
            node.meta["tensor_dict"] = {"_dynamo_static_input_type": "unguarded"}
    return described


def innermost(compiled: CompiledFunction, graph_module: torch.fx.GraphModule) -> CompiledFunction:
    """AOTAutograd's function below the wrappers that only torch.compile's own frame hook and lifted parameters need."""
    function = compiled
    while hasattr(function, "_torchdynamo_orig_callable"):
        function = function._torchdynamo_orig_callable
    boxed = getattr(function, "__wrapped__", None)
    if "_param_name_to_source" not in graph_module.__dict__ or not callable(boxed):
        return compiled
    return unboxed(boxed)
