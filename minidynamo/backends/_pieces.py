"""Compiles a captured graph by pieces: layers that are equal are compiled once.

The native part divides a graph along its regions (csrc/graph/pieces.h) into a program: distinct pieces as modules, and steps that call
them. Each distinct piece is compiled like a graph of its own; a native callable runs the steps.
"""

from collections.abc import Callable, Sequence
from typing import Any, cast

import torch

from minidynamo import _C
from minidynamo._capture.conditions import Layout, layout_of
from minidynamo._capture.tracing_context import is_static, noted_in_terms_of

Boxed = Callable[[list[Any]], Sequence[Any]]
"""A compiled piece: takes its inputs as one list, which it may empty."""

Step = tuple[int, tuple[int, ...], tuple[int, ...]]
"""A piece's module, and the slots of its inputs and of its outputs. The first slots are the graph's inputs."""

Program = tuple[tuple[torch.fx.GraphModule, ...], tuple[Step, ...], tuple[int, ...]]
"""Distinct pieces, steps, and the slots of the graph's results.

Where sizes are dynamic, a piece has `meta["open_sizes"]`, as a graph has, and `meta["layouts"]`: for each input how its sizes and strides,
or the int that it is, follow from the graph's inputs (`Layout`); None if they are fixed.
"""


class CompiledSteps:
    """The pieces of a program, compiled for inputs like the examples.

    Args:
        program: `meta["pieces"]` of a captured graph.
        example_inputs: the graph's.
        compile_piece: compiles a module for example inputs; what it returns is made a function by `runnable`.
    """

    def __init__(
        self, program: Program, example_inputs: Sequence[Any], compile_piece: Callable[[torch.fx.GraphModule, list[Any]], Any]
    ) -> None:
        modules, self._steps, self._results = program
        self._input_count = len(example_inputs)
        self._compiled: dict[tuple[Any, ...], Any] = {}
        self._keys: list[tuple[Any, ...]] = []
        for number, inputs, _ in self._steps:
            given = [example_inputs[slot] if slot < self._input_count else None for slot in inputs]
            module = modules[number]
            placeholders = module.graph.find_nodes(op="placeholder")
            # Equal metadata is not all that a compiler asks of the graph's own inputs.
            kinds = tuple(
                None if x is None else (is_static(x, str(node.meta["source"])), getattr(x, "is_leaf", None), type(x))
                for x, node in zip(given, placeholders, strict=True)
            )
            key = (number, kinds)
            self._keys.append(key)
            if key in self._compiled:
                continue
            layouts = module.meta.get("layouts")
            examples = [
                _stand_in(node, layout, example_inputs) if x is None else x
                for x, node, layout in zip(given, placeholders, layouts or [None] * len(given), strict=True)
            ]
            with noted_in_terms_of(layouts):
                self._compiled[key] = compile_piece(module, examples)

    def callable(self, runnable: Callable[[Any], Boxed]) -> Callable[..., Any]:
        """The function of the whole graph, called with its inputs as positional arguments."""
        functions = {key: runnable(compiled) for key, compiled in self._compiled.items()}
        steps = tuple((functions[key], inputs, outputs) for key, (_, inputs, outputs) in zip(self._keys, self._steps, strict=True))
        return _C.piecewise_callable(steps, self._results, self._input_count)


def _stand_in(placeholder: torch.fx.Node, layout: Layout | None, example_inputs: Sequence[Any]) -> torch.Tensor:
    """A tensor with the metadata of a value that goes from piece to piece."""
    fake = placeholder.meta["example_value"]
    size, stride = (fake.shape, fake.stride()) if layout is None else layout_of(layout, example_inputs)
    made = torch.empty_strided(size, stride, dtype=fake.dtype, device=fake.device)
    if fake.requires_grad and torch.is_grad_enabled():
        return with_history(made)
    return made


def with_history(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor as one that was computed. (A clone would have other strides.)"""
    return cast(torch.Tensor, _Computed.apply(tensor, torch.empty(0, requires_grad=True)))  # type: ignore[no-untyped-call,unused-ignore]


class _Computed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor, leaf: torch.Tensor) -> torch.Tensor:
        ctx.mark_dirty(tensor)
        return tensor

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        return None, None
