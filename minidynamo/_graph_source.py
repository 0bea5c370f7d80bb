"""Lets go of a captured graph's generated source when the graph itself is gone.

torch.fx keeps the source of every generated `forward` for tracebacks (its own table and a linecache entry), for as long as the
process lives. A program that captures for days must not grow by it. Reads torch.fx's tables where they are as in torch 2.13
and leaves them alone otherwise.
"""

import linecache
import weakref

import torch


def forget_with(graph_module: torch.fx.GraphModule) -> None:
    """Arranges that the source generated for `graph_module`, now or later, goes when it does."""
    # Every graph module has a class of its own, which carries the generated forward.
    weakref.finalize(graph_module, _forget, type(graph_module)).atexit = False


def _forget(graph_class: type) -> None:
    code = getattr(graph_class.__dict__.get("forward"), "__code__", None)
    if code is None or not code.co_filename.startswith("<eval_with_key>"):
        return
    linecache.cache.pop(code.co_filename, None)
    loader = getattr(torch.fx.graph_module, "_loader", None)
    getattr(loader, "eval_cache", {}).pop(code.co_filename, None)
