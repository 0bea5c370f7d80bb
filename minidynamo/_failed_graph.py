"""Which lines of the program a graph that raised stands for, for the error's traceback.

Knows the lines of the source that torch.fx generates for a graph, so the graph itself must have run (backend "eager" and others that call
it). Of what a compiler made of it there is no telling.
"""

import re
import types

import torch

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
            return [(file, int(line), name) for file, line, name in _ENTRY.findall(stack or "")]
        traceback = traceback.tb_next
    return []
