"""The backend `eager`."""

from typing import Any

import torch

from minidynamo.backends._registry import CompiledFunction


def eager(graph_module: torch.fx.GraphModule, example_inputs: list[torch.Tensor]) -> CompiledFunction:
    """Runs the graph as it is, by the module's own `forward`, whose source is generated at the first call."""
    from torch.fx._lazy_graph_module import _LazyGraphModule

    if not (isinstance(graph_module, _LazyGraphModule) and graph_module._needs_recompile()):
        return graph_module.forward
    lazy_module = graph_module
    forward: CompiledFunction | None = None

    def call(*inputs: Any) -> Any:
        nonlocal forward
        if forward is None:
            lazy_module.real_recompile()
            forward = lazy_module.forward
        return forward(*inputs)

    return call
