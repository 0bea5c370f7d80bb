"""The backend `aot_eager`."""

from collections.abc import Sequence
from typing import Any

import torch

from minidynamo._capture.tracing_context import tracing_context
from minidynamo.backends._collector import few_collections
from minidynamo.backends._described import innermost, with_described_inputs
from minidynamo.backends._imports import counted_as_imports
from minidynamo.backends._merged_calls import separate_merged_calls
from minidynamo.backends._registry import CompiledFunction
from minidynamo.backends._views import with_views_of_grad_mode, with_views_without_gradient


def aot_eager(graph_module: torch.fx.GraphModule, example_inputs: list[torch.Tensor]) -> CompiledFunction:
    """Traces forward and backward ahead of time (AOTAutograd) and runs both with eager kernels."""
    with counted_as_imports():
        import torch._dynamo  # AOTAutograd refers to it without importing it
        from torch._functorch._aot_autograd.utils import make_boxed_func
        from torch._functorch.aot_autograd import aot_module_simplified
        from torch._functorch.partitioners import min_cut_rematerialization_partition

    def run_as_it_is(gm: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Any:
        separate_merged_calls(gm)
        return make_boxed_func(gm.forward)

    with_views = with_views_without_gradient(graph_module)
    graph_module = with_described_inputs(graph_module, example_inputs)
    with few_collections(), tracing_context(example_inputs, graph_module) as context:
        compiled = aot_module_simplified(
            graph_module,
            context.fakes(),
            fw_compiler=run_as_it_is,
            bw_compiler=run_as_it_is,
            inference_compiler=run_as_it_is,
            partition_fn=min_cut_rematerialization_partition,
            keep_inference_input_mutations=True,
        )
    return with_views(with_views_of_grad_mode(innermost(compiled, graph_module)))
