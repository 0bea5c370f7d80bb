"""A graph that raised: whether it does so when run operator by operator, which lines of the program it stands for, and which error.

Knows the lines of the source that torch.fx generates for a graph, so the graph itself must have run (backend "eager" and others that call
it). Of what a compiler made of it there is no telling.
"""

import re
import types
from typing import Any

import torch

NO_MESSAGE = "assertion failed"
"""What the check in a graph says for an `assert` without a message that is a constant."""

_ENTRY = re.compile(r'^  File "(.*)", line (\d+), in (.*)$', re.MULTILINE)


def program_lines(graph_module: torch.fx.GraphModule, traceback: types.TracebackType | None) -> list[tuple[str, int, str]]:
    """(file, line, function) of each frame of the program, outermost first, where the node was recorded that raised; empty if unknown.

    Args:
        graph_module: the graph.
        traceback: of an error that came out of it.
    """
    generated = getattr(getattr(graph_module, "forward", None), "__code__", None)
    lines = getattr(graph_module, "_lineno_map", None) or {}
    while traceback is not None:
        if traceback.tb_frame.f_code is generated:
            index = lines.get(traceback.tb_lineno - getattr(graph_module, "_prologue_start", 0))
            nodes = list(graph_module.graph.nodes)
            stack = nodes[index].meta.get("stack_trace") if index is not None and index < len(nodes) else None
            return entries(stack or "")
        traceback = traceback.tb_next
    return []


def entries(stack: str) -> list[tuple[str, int, str]]:
    """(file, line, function) of each frame of a stack in text, outermost first."""
    return [(file, int(line), name) for file, line, name in _ENTRY.findall(stack)]


def run(graph_module: torch.fx.GraphModule, inputs: tuple[torch.Tensor, ...]) -> Any:
    """Runs the graph as it is, operator by operator. (GraphModule.__call__ would print the error.)"""
    if hasattr(graph_module, "real_recompile") and graph_module._needs_recompile():  # type: ignore[operator]
        graph_module.real_recompile()  # type: ignore[operator]
    return graph_module.forward(*inputs)


def as_assertion(graph_module: torch.fx.GraphModule, error: BaseException) -> AssertionError | None:
    """The AssertionError that the program's `assert` would have raised; None if the error is not that of a check in the graph."""
    if not isinstance(error, RuntimeError):
        return None
    text = str(error)
    for node in graph_module.graph.nodes:
        is_check = node.op == "call_function" and node.target is torch._assert_async and len(node.args) == 2
        if is_check and text.startswith(node.args[1]):
            return AssertionError() if node.args[1] == NO_MESSAGE else AssertionError(node.args[1])
    return None
