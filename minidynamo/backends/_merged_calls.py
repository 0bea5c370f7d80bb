"""Calls that AOTAutograd has merged although their results are handed out.

Before it divides a training graph, AOTAutograd computes equal expressions once (`torch._functorch.compile_utils.fx_graph_cse`). It leaves
out what shares memory with the graph's results, so that two results stay two tensors. But it does not look at a call of several results,
such as `max` of a dimension or `native_layer_norm`, before these are taken apart: of two equal ones, only the items are kept apart, and
two results of the program would be one object.
"""

import operator
from typing import Any

import torch


def separate_merged_calls(graph_module: torch.fx.GraphModule) -> None:
    """Has a call once more for each time that the same item of its results is taken again. Changes the graph."""
    graph = graph_module.graph
    again: dict[tuple[torch.fx.Node, Any], int] = {}
    copies: dict[torch.fx.Node, list[torch.fx.Node]] = {}
    for item in graph.find_nodes(op="call_function", target=operator.getitem):
        call, index = item.args
        times = again[call, index] = again.get((call, index), -1) + 1
        if times == 0:
            continue
        calls = copies.setdefault(call, [])
        if len(calls) < times:
            with graph.inserting_after(call):
                calls.append(graph.node_copy(call))
        item.update_arg(0, calls[times - 1])
    if copies:
        graph_module.recompile()
