"""The Python source of a captured graph: generated when it is first asked for, by one thread, and gone with the graph.

torch.fx generates source with names that it keeps on the graph's own nodes meanwhile: two threads that generate the same
graph's source at once would take each other's names. And it keeps the source of every generated `forward` for tracebacks
(its own table and a linecache entry) for as long as the process lives; a program that captures for days must not grow by
it. Reads torch.fx's tables where they are as in torch 2.13 and leaves them alone otherwise.
"""

import linecache
import os
import threading
import weakref
from typing import Any

import torch
from torch.fx._lazy_graph_module import _LazyGraphModule

_generating = threading.RLock()
os.register_at_fork(after_in_child=_generating._at_fork_reinit)  # type: ignore[attr-defined]


class CapturedGraphModule(_LazyGraphModule):
    """A captured graph, which any thread may call, print or pickle."""

    def real_recompile(self) -> None:
        with _generating:
            super().real_recompile()

    def _real_recompile(self) -> Any:
        with _generating:
            return super()._real_recompile()

    def _lazy_forward(self, *args: Any, **kwargs: Any) -> Any:
        """The `forward` that a backend may keep: generates the source at its first call, and never runs `Module.__call__`.

        torch.fx's own goes through `__call__` at every call, which costs more and which `torch.fx.symbolic_trace` replaces
        for all modules while it runs, whichever thread it runs in.
        """
        if self._needs_recompile():
            self.real_recompile()
        return type(self).forward(self, *args, **kwargs)

    forward = _lazy_forward

    def __deepcopy__(self, memo: dict[int, Any]) -> torch.fx.GraphModule:
        with _generating:
            return super().__deepcopy__(memo)

    def __reduce__(self) -> tuple[Any, tuple[Any, str]]:
        with _generating:
            return super().__reduce__()


def forget_with(graph_module: torch.fx.GraphModule) -> None:
    """Arranges that the source generated for `graph_module`, now or later, goes when it does."""
    # Every graph module has a class of its own, which carries the generated forward; so have the bodies of its operators.
    for module in graph_module.modules():
        if isinstance(module, CapturedGraphModule):
            weakref.finalize(module, _forget, type(module)).atexit = False


def graph_text(graph_module: torch.fx.GraphModule) -> str:
    """The graph as torch.fx prints it, followed by those of the bodies that its operators run."""
    texts = [str(graph_module.graph).strip("\n")]
    for name, module in graph_module.named_modules():
        if name and isinstance(module, CapturedGraphModule):
            texts.append(f"{name}: {str(module.graph).strip()}")
    return "\n".join(texts)


def _forget(graph_class: type) -> None:
    code = getattr(graph_class.__dict__.get("forward"), "__code__", None)
    if code is None or not code.co_filename.startswith("<eval_with_key>"):
        return
    linecache.cache.pop(code.co_filename, None)
    loader = getattr(torch.fx.graph_module, "_loader", None)
    getattr(loader, "eval_cache", {}).pop(code.co_filename, None)
