"""The backend `python`."""

import itertools
import linecache
import weakref
from typing import cast

import torch

from minidynamo.backends._function_writer import FunctionWriter
from minidynamo.backends._registry import CompiledFunction

_graph_count = itertools.count()


def python(graph_module: torch.fx.GraphModule, example_inputs: list[torch.Tensor]) -> CompiledFunction:
    """Writes the graph as one plain Python function: no module call, no attribute look-up of a function as it runs.

    `inspect.getsource` and tracebacks show its source.
    """
    source, namespace, name = FunctionWriter(graph_module).write()
    filename = f"<minidynamo graph {next(_graph_count)}>"
    exec(compile(source, filename, "exec"), namespace)
    function = cast(CompiledFunction, namespace[name])
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    weakref.finalize(function, linecache.cache.pop, filename, None).atexit = False
    return function
