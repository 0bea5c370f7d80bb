"""Backends: what turns a captured graph into something to run.

A backend is a callable `(graph_module, example_inputs) -> callable`. The graph returns a tuple of tensors; the example inputs
are real tensors, one for each placeholder, in order; the result is called with such tensors as positional arguments and
returns what the graph returns. Backends are registered by name:

    >>> @register_backend
    ... def count_nodes(graph_module, example_inputs):
    ...     print(len(graph_module.graph.nodes), "nodes")
    ...     return graph_module.forward
    >>> "count_nodes" in list_backends()
    True

A backend runs outside any trace, with the grad mode and autocast state that the graph is to run under. Importing this module
costs nothing beyond torch: compilers are imported when a graph reaches them.
"""

from minidynamo.backends._registry import CompiledFunction, CompilerFunction, list_backends, register_backend
from minidynamo.backends._resolve import resolve

__all__ = ["CompiledFunction", "CompilerFunction", "list_backends", "register_backend", "resolve"]
