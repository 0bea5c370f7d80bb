"""The backend `inductor`: a graph whole or by its pieces, here or in another process, compiled or loaded."""

import contextlib
import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any, cast

import torch

from minidynamo import _artifacts, config
from minidynamo._capture.tracing_context import tracing_context
from minidynamo.backends import _pieces
from minidynamo.backends._calling import boxed, unboxed
from minidynamo.backends._collector import few_collections
from minidynamo.backends._cpp_builds import built_together, few_builds, when_built
from minidynamo.backends._described import innermost, with_described_inputs
from minidynamo.backends._eager import eager
from minidynamo.backends._inductor_import import compile_fx_module
from minidynamo.backends._merged_calls import separate_merged_calls
from minidynamo.backends._registry import CompiledFunction
from minidynamo.backends._views import with_views_without_gradient


def inductor(
    graph_module: torch.fx.GraphModule, example_inputs: list[torch.Tensor], *, options: dict[str, Any] | None = None
) -> CompiledFunction:
    """TorchInductor, forward and backward. `options` are entries of `torch._inductor.config`.

    A graph with layers that are equal is compiled by pieces (docs/regions.md).
    """
    patches = dict(options or {})
    program = graph_module.meta.pop("pieces", None)
    with_views = with_views_without_gradient(graph_module)

    def compile_here(inputs: Sequence[Any]) -> CompiledFunction:
        with few_collections():
            return _compiled_here(graph_module, program, inputs, patches)

    if config.compile_in_background:
        from minidynamo._background import compiled_later  # it compiles by this module

        uncompiled = eager(graph_module, example_inputs)
        switching = compiled_later(graph_module, program, example_inputs, patches, uncompiled, compile_here)
        if switching is not None:
            return with_views(switching)
    return with_views(compile_here(example_inputs))


def _compiled_here(
    graph_module: torch.fx.GraphModule, program: _pieces.Program | None, example_inputs: Sequence[Any], patches: dict[str, Any]
) -> CompiledFunction:
    if program is None:
        return unboxed(compile_with_inductor(graph_module, example_inputs, patches).function)
    with built_together():
        steps = _pieces.CompiledSteps(program, example_inputs, lambda module, inputs: compile_with_inductor(module, inputs, patches, True))
    return steps.callable(lambda compiled: compiled.shortest())


def compile_with_inductor(
    graph_module: torch.fx.GraphModule, example_inputs: Sequence[Any], patches: dict[str, Any], with_backward: bool = False
) -> _artifacts.Compiled:
    """One graph, compiled by Inductor in this process, or loaded.

    Args:
        patches: entries of Inductor's configuration.
        with_backward: the backward graph is compiled at once, instead of at the first backward pass.
    """

    def compile_graph(around: Callable[..., Any], done: Callable[..., None]) -> Callable[[list[Any]], Any]:
        compiler = compile_fx_module()
        # A copy: the compiler's passes change the graph that they are given.
        described = with_described_inputs(graph_module, example_inputs)
        compile_part = around(_in_our_way(compiler.compile_fx_inner))  # it is called for a backward too, when that runs first
        with tracing_context(example_inputs, described) as context:
            compiled = compiler.compile_fx(described, context.fakes(), compile_part, config_patches=patches)
            done(context.fw_metadata, context.conditions(), context.strides())
        return boxed(innermost(cast(CompiledFunction, compiled), described))

    return _artifacts.load_or_compile(graph_module, example_inputs, patches, compile_graph, when_built, with_backward)


_INDUCTORS_RECURSION_LIMIT = 2000


def _in_our_way(compile_part: Callable[..., Any]) -> Callable[..., Any]:
    """With results that are apart, few runs of the C++ compiler and of the garbage collector, and Python's recursion limit as it was.

    Inductor raises the limit for good. A program that has read it, as `inspect.unwrap` does, would be captured and compiled once more.
    What another thread has set meanwhile stays.
    """

    @functools.wraps(compile_part)
    def compile_in_our_way(part: torch.fx.GraphModule, *args: Any, **kwargs: Any) -> Any:
        separate_merged_calls(part)
        limit = sys.getrecursionlimit()
        try:
            with few_builds(), few_collections():
                return compile_part(part, *args, **kwargs)
        finally:
            if limit < _INDUCTORS_RECURSION_LIMIT == sys.getrecursionlimit():
                with contextlib.suppress(RecursionError):  # the stack is deeper than the old limit
                    sys.setrecursionlimit(limit)

    return compile_in_our_way


def inductor_options(mode: str | None, options: dict[str, Any] | None) -> dict[str, Any] | None:
    """The entries of Inductor's configuration that a mode and options stand for."""
    if mode in (None, "default") and not options:
        return None
    from torch._inductor import config, list_mode_options

    if mode not in (None, "default") and mode not in list_mode_options():
        raise ValueError(f"unknown mode {mode!r}; known modes: {', '.join(list_mode_options())}")
    chosen: dict[str, Any] = dict(list_mode_options(mode)) if mode not in (None, "default") else {}
    settings = cast(Any, config)  # its functions are added at run time
    known = settings.get_config_copy()
    for key, value in (options or {}).items():
        name = key.replace("-", "_")
        if name not in known:
            raise ValueError(f"Inductor has no option {key!r}; torch._inductor.list_options() lists them")
        expected = settings.get_type(name)
        if isinstance(expected, type) and not isinstance(value, expected):
            raise TypeError(f"Inductor's option {key!r} is of type {expected.__name__}, got {value!r}")
        chosen[name] = value
    return chosen
