"""From the backend that a user named to a compiler that fails in one way and whose result is called in one way."""

import contextlib
import functools
import signal
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import torch
from torch import _VF

from minidynamo._capture.tracing_context import conditions_noted, has_open_sizes, tracing_context
from minidynamo.backends._calling import is_boxed, unboxed
from minidynamo.backends._registry import CompiledFunction, CompilerFunction, find, own_name
from minidynamo.exceptions import BackendCompilerFailed


def resolve(backend: str | Callable[..., Any], mode: str | None = None, options: dict[str, Any] | None = None) -> CompilerFunction:
    """The compiler for a backend that a user named or brought.

    Args:
        backend: a name from `list_backends()`, or a callable `(graph_module, example_inputs) -> callable`.
        mode: as in `torch.compile`: "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs". Backends
            other than "inductor" get it as the keyword `mode`, if it is given.
        options: as in `torch.compile`; Inductor's are listed by `torch._inductor.list_options()`. Other backends get them as
            the keyword `options`, if they are given. "eager", "aot_eager", "ts" and "python" have neither.

    Returns:
        A compiler that raises BackendCompilerFailed whatever goes wrong inside the backend, and whose result is called with
        positional arguments, even if the backend's own function takes a list (`_boxed_call`).

    Raises:
        InvalidBackend: an unknown name; lists the known ones.
        ValueError, TypeError: a mode or an option that the backend does not have.

    Example:
        >>> graph_module = torch.fx.symbolic_trace(lambda x: (x + 1,))
        >>> resolve("eager")(graph_module, [torch.zeros(2)])(torch.zeros(2))
        (tensor([1., 1.]),)
    """
    if isinstance(backend, str):
        name, compiler = backend, find(backend)
    elif callable(backend):
        name = str(getattr(backend, "__qualname__", None) or type(backend).__qualname__)
        compiler = backend
    else:
        raise TypeError(f"a backend is a name or a callable, got {type(backend).__name__}")
    own = own_name(compiler)
    if own == "inductor":
        from minidynamo.backends._inductor import inductor_options

        options, mode = inductor_options(mode, options), None
    elif own:
        if mode not in (None, "default") or options:
            raise ValueError(f"backend {name!r} has no modes and no options")
        mode = options = None
    settings: dict[str, Any] = {}
    if mode is not None:
        settings["mode"] = mode
    if options is not None:
        settings["options"] = dict(options)
    return cast(CompilerFunction, functools.partial(_compile, name, compiler, settings))


def compiles_by_pieces(backend: str | Callable[..., Any], mode: str | None, options: dict[str, Any] | None) -> bool:
    """True if a backend takes a graph's pieces. With CUDA graphs, and where kernels are tuned, a graph is compiled whole."""
    compiler = find(backend) if isinstance(backend, str) else backend
    about_whole_graphs = [name for name in options or {} if name.startswith(("max_autotune", "triton.cudagraph"))]
    return own_name(compiler) == "inductor" and mode in (None, "default") and not about_whole_graphs


def takes_operators_apart(backend: str | Callable[..., Any]) -> bool:
    """True if a backend may make many operators of one, as AOTAutograd does of an LSTM: one for each step in time and gate."""
    compiler = find(backend) if isinstance(backend, str) else backend
    return own_name(compiler) not in ("eager", "python", "ts")


def _compile(
    name: str,
    compiler: Callable[..., Any],
    settings: dict[str, Any],
    graph_module: torch.fx.GraphModule,
    example_inputs: Sequence[torch.Tensor],
) -> CompiledFunction:
    makes_context = own_name(compiler) is None  # each of our own makes its own tracing context, or needs none
    if makes_context:
        from minidynamo.backends._autocast_regions import name_regions
        from minidynamo.backends._views import with_views_without_gradient

        name_regions(graph_module)
        with_views = with_views_without_gradient(graph_module)
    try:
        with (
            _trainable_recurrent_layers(graph_module, example_inputs),
            conditions_noted(graph_module),
            tracing_context(example_inputs, graph_module) if makes_context else contextlib.nullcontext() as context,
        ):
            compiled = compiler(graph_module, _with_open_ints(graph_module, example_inputs, context), **settings)
        if not callable(compiled):
            raise TypeError(f"a backend must return a callable, this one returned {_described(compiled)}")
    except (BackendCompilerFailed, MemoryError, torch.OutOfMemoryError):
        raise
    except Exception as error:
        if _is_of_signal_handler(error):
            raise
        if graph_module.meta.get("unbacked_numbers") or has_open_sizes(graph_module):
            graph_module.meta["size_conditions"] = None  # the capture is made again for sizes as they are; then this is an error
            return graph_module.forward
        raise BackendCompilerFailed(name, error) from error
    function = unboxed(compiled) if is_boxed(compiled) else compiled
    return with_views(function) if makes_context else function


def _with_open_ints(graph_module: torch.fx.GraphModule, example_inputs: Sequence[Any], context: Any) -> list[Any]:
    """The inputs as a backend of torch.compile gets them: real tensors, and a SymInt for an int that may be another one at the next
    call."""
    open_sizes = graph_module.meta.get("open_sizes", ())
    if context is None or None not in open_sizes:
        return list(example_inputs)
    return [fake if sizes is None else x for x, sizes, fake in zip(example_inputs, open_sizes, context.fakes(), strict=True)]


@contextlib.contextmanager
def _trainable_recurrent_layers(graph_module: torch.fx.GraphModule, example_inputs: Sequence[torch.Tensor]) -> Iterator[None]:
    """Where an LSTM's input needs no gradient, torch decomposes it into a kernel that keeps nothing for a backward pass, though its
    weights may need one: AOTAutograd's forward then fails. Such a graph gets the decomposition into plain operators."""
    may_train = torch.is_grad_enabled() and any(x.requires_grad for x in example_inputs if isinstance(x, torch.Tensor))
    if not may_train or not any(graph_module.graph.find_nodes(op="call_function", target=lstm) for lstm in (torch.lstm, _VF.lstm)):
        yield
        return
    from torch._decomp import decompositions

    def plain_operators(input: Any, hx: Any, params: Any) -> Any:
        return decompositions.one_layer_lstm

    chosen = decompositions.select_one_layer_lstm_function
    decompositions.select_one_layer_lstm_function = plain_operators
    try:
        yield
    finally:
        decompositions.select_one_layer_lstm_function = chosen


def _is_of_signal_handler(error: BaseException) -> bool:
    """True if one of the program's signal handlers raised it: then it is meant for the program."""
    handlers = [signal.getsignal(number) for number in signal.valid_signals()]
    functions = [getattr(handler, "__func__", handler) for handler in handlers if callable(handler)]
    codes = {getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None) for function in functions}
    return any(frame.f_code in codes for frame, _ in traceback.walk_tb(error.__traceback__))


def _described(value: object) -> str:
    return "None" if value is None else f"an object of type {type(value).__name__}"
