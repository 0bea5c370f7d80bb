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

import contextlib
import copy
import functools
import itertools
import linecache
import signal
import sys
import traceback
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar, cast, overload

import torch
from torch import _VF

from minidynamo import _artifacts, _pieces, config
from minidynamo._autocast_regions import name_regions
from minidynamo._collector import few_collections
from minidynamo._cpp_builds import built_together, few_builds, when_built
from minidynamo._function_writer import FunctionWriter, target_name
from minidynamo._inductor_import import compile_fx_module
from minidynamo._merged_calls import separate_merged_calls
from minidynamo._tracing_context import InputSource, conditions_noted, is_static, tracing_context
from minidynamo.exceptions import BackendCompilerFailed, InvalidBackend

__all__ = ["CompiledFunction", "CompilerFunction", "list_backends", "register_backend", "resolve"]

CompiledFunction = Callable[..., Any]
"""What a backend returns: takes the inputs of the graph as positional arguments and returns what the graph returns."""


class CompilerFunction(Protocol):
    """The form of a backend: compiles a graph for inputs like the examples. It may take `mode` and `options` as keywords."""

    def __call__(
        self, graph_module: torch.fx.GraphModule, example_inputs: list[torch.Tensor], /, *args: Any, **kwargs: Any
    ) -> CompiledFunction: ...


_AnyCompiler = TypeVar("_AnyCompiler", bound=Callable[..., Any])

# Other packages' backends: ours, and those written for torch.compile, which have the same signature.
_ENTRY_POINT_GROUPS = ("minidynamo_backends", "torch_dynamo_backends")

_registered: dict[str, Callable[..., Any]] = {}


@overload
def register_backend(name: _AnyCompiler, compiler: str | None = None) -> _AnyCompiler: ...
@overload
def register_backend(name: str | None, compiler: _AnyCompiler) -> _AnyCompiler: ...
@overload
def register_backend(name: str | None = None, compiler: None = None) -> Callable[[_AnyCompiler], _AnyCompiler]: ...
def register_backend(name: Any = None, compiler: Any = None) -> Any:
    """Makes a backend known by a name; usable as a function or as a decorator, with or without arguments.

    Args:
        name: the name; the compiler's `__name__` if left out. A name that is taken is taken over.
        compiler: `(graph_module, example_inputs) -> callable`. With it left out the result is a decorator. The two may also
            be given in the other order, as torch's function of the same name has them.

    Returns:
        The compiler itself.

    Raises:
        TypeError: the compiler is not callable, or has no name and none is given.

    Example:
        >>> @register_backend(name="identity")
        ... def run_as_it_is(graph_module, example_inputs):
        ...     return graph_module.forward
        >>> register_backend("identity_too", run_as_it_is) is run_as_it_is
        True
    """
    if callable(name):
        name, compiler = compiler, name
    if compiler is None:
        return lambda decorated: register_backend(name, decorated)
    if not callable(compiler):
        raise TypeError(f"a backend must be a callable, got {type(compiler).__name__}")
    if name is None:
        name = getattr(compiler, "__name__", None)
    if not isinstance(name, str) or not name:
        raise TypeError(f"a backend needs a name, and {compiler!r} has none of its own")
    _registered[name] = compiler
    return compiler


def list_backends(exclude_tags: Sequence[str] | None = ("debug", "experimental")) -> list[str]:
    """The names of all backends: those of the package, those registered, and those that installed packages announce.

    Args:
        exclude_tags: None adds all that torch has registered for torch.compile, those for debugging among them; others, those
            without such a tag. By default they are left out, since asking imports torch._dynamo; they are found by name all the same.

    Example:
        >>> {"aot_eager", "eager", "inductor", "python", "ts"} <= set(list_backends())
        True
    """
    names = {*_registered, *(point.name for point in _entry_points())}
    if exclude_tags != ("debug", "experimental"):
        names |= {*_registry_of_torch().list_backends(exclude_tags or ())}
    return sorted(names)


def _registry_of_torch() -> Any:
    """Where torch keeps the backends of torch.compile. Imports torch._dynamo."""
    import torch._dynamo.backends.registry as registry

    return registry


def resolve(
    backend: str | Callable[..., Any], mode: str | None = None, options: dict[str, Any] | None = None
) -> CompilerFunction:
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
        name, compiler = backend, _find(backend)
    elif callable(backend):
        name = str(getattr(backend, "__qualname__", None) or type(backend).__qualname__)
        compiler = backend
    else:
        raise TypeError(f"a backend is a name or a callable, got {type(backend).__name__}")
    if compiler is inductor:
        options, mode = _inductor_options(mode, options), None
    elif compiler in (eager, aot_eager, ts, python):
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
    compiler = _find(backend) if isinstance(backend, str) else backend
    about_whole_graphs = [name for name in options or {} if name.startswith(("max_autotune", "triton.cudagraph"))]
    return compiler is inductor and mode in (None, "default") and not about_whole_graphs


def takes_operators_apart(backend: str | Callable[..., Any]) -> bool:
    """True if a backend may make many operators of one, as AOTAutograd does of an LSTM: one for each step in time and gate."""
    compiler = _find(backend) if isinstance(backend, str) else backend
    return compiler not in (eager, python, ts)


def _compile(
    name: str,
    compiler: Callable[..., Any],
    settings: dict[str, Any],
    graph_module: torch.fx.GraphModule,
    example_inputs: Sequence[torch.Tensor],
) -> CompiledFunction:
    if compiler not in _OWN:
        name_regions(graph_module)
    try:
        with (
            _trainable_recurrent_layers(graph_module, example_inputs),
            conditions_noted(graph_module),
            contextlib.nullcontext() if compiler in _OWN else tracing_context(example_inputs, graph_module) as context,
        ):
            compiled = compiler(graph_module, _with_open_ints(graph_module, example_inputs, context), **settings)
        if not callable(compiled):
            raise TypeError(f"a backend must return a callable, this one returned {_described(compiled)}")
    except (BackendCompilerFailed, MemoryError, torch.OutOfMemoryError):
        raise
    except Exception as error:
        if _is_of_signal_handler(error):
            raise
        if graph_module.meta.get("unknown_numbers") or any(
            sizes is None or sizes for sizes in graph_module.meta.get("open_sizes", ())
        ):
            graph_module.meta["size_conditions"] = None  # the capture is made again for sizes as they are; then this is an error
            return graph_module.forward
        raise BackendCompilerFailed(name, error) from error
    return _unboxed(compiled) if _is_boxed(compiled) else compiled


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


def _is_boxed(compiled: Callable[..., Any]) -> bool:
    """True if it takes its inputs as one list. A wrapper that has the mark of what it wraps (as that of aot_module_simplified) says
    nothing about itself by it: it is called as torch.compile calls everything."""
    if not getattr(compiled, "_boxed_call", False):
        return False
    wrapped = getattr(compiled, "__wrapped__", None)
    return not getattr(wrapped, "_boxed_call", False)


def _described(value: object) -> str:
    return "None" if value is None else f"an object of type {type(value).__name__}"


def _unboxed(boxed: Callable[[list[Any]], Any]) -> CompiledFunction:
    """A function of positional arguments for one that takes, and empties, a list."""

    def call(*inputs: Any) -> Any:
        return boxed(list(inputs))

    call.boxed = boxed  # type: ignore[attr-defined]
    return call


def _find(name: str) -> Callable[..., Any]:
    if name in _registered:
        return _registered[name]
    for point in _entry_points():
        if point.name == name:
            try:
                loaded = point.load()
            except Exception as error:
                raise BackendCompilerFailed(name, error) from error
            return cast(Callable[..., Any], register_backend(name, loaded))
    registry = _registry_of_torch()
    if name in registry.list_backends(()):
        return cast(Callable[..., Any], registry.lookup_backend(name))
    raise InvalidBackend(name, list_backends())


def _entry_points() -> list[Any]:
    from importlib.metadata import entry_points

    return [point for group in _ENTRY_POINT_GROUPS for point in entry_points(group=group)]


@register_backend
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


@register_backend
def aot_eager(graph_module: torch.fx.GraphModule, example_inputs: list[torch.Tensor]) -> CompiledFunction:
    """Traces forward and backward ahead of time (AOTAutograd) and runs both with eager kernels."""
    import torch._dynamo  # AOTAutograd refers to it without importing it
    from torch._functorch._aot_autograd.utils import make_boxed_func
    from torch._functorch.aot_autograd import aot_module_simplified
    from torch._functorch.partitioners import min_cut_rematerialization_partition

    def run_as_it_is(gm: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Any:
        separate_merged_calls(gm)
        return make_boxed_func(gm.forward)

    graph_module = _with_described_inputs(graph_module, example_inputs)
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
    return _with_views_of_grad_mode(_innermost(compiled, graph_module))


def _with_views_of_grad_mode(compiled: CompiledFunction) -> CompiledFunction:
    """AOTAutograd runs a graph that needs no gradient without autograd, which marks views so that they cannot be written to later on.
    Where autograd is on, results are the views that they would be eagerly."""

    def call(*inputs: Any) -> Any:
        results = compiled(*inputs)
        if not torch.is_grad_enabled():
            return results
        return [_view_of_grad_mode(x) if isinstance(x, torch.Tensor) and x._is_view() else x for x in results]

    return call


def _view_of_grad_mode(view: torch.Tensor) -> torch.Tensor:
    base = view._base
    if view.grad_fn is not None or base is None or base.requires_grad or base.dtype != view.dtype or type(view) is not torch.Tensor:
        return view
    if view.is_inference() or view.is_conj() != base.is_conj() or view.is_neg() != base.is_neg():
        return view
    return base.as_strided(view.size(), view.stride(), view.storage_offset())


@register_backend
def inductor(
    graph_module: torch.fx.GraphModule, example_inputs: list[torch.Tensor], *, options: dict[str, Any] | None = None
) -> CompiledFunction:
    """TorchInductor, forward and backward. `options` are entries of `torch._inductor.config`.

    A graph with layers that are equal is compiled by pieces (docs/regions.md).
    """
    patches = dict(options or {})
    program = graph_module.meta.pop("pieces", None)

    def compile_here(inputs: Sequence[Any]) -> CompiledFunction:
        with few_collections():
            return _compiled_here(graph_module, program, inputs, patches)

    if config.compile_in_background:
        from minidynamo._background import compiled_later  # it compiles by this module

        uncompiled = eager(graph_module, example_inputs)
        switching = compiled_later(graph_module, program, example_inputs, patches, uncompiled, compile_here)
        if switching is not None:
            return switching
    return compile_here(example_inputs)


def _compiled_here(
    graph_module: torch.fx.GraphModule, program: _pieces.Program | None, example_inputs: Sequence[Any], patches: dict[str, Any]
) -> CompiledFunction:
    if program is None:
        return _unboxed(compile_with_inductor(graph_module, example_inputs, patches).function)
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

    def compile_graph(around: Callable[..., Any], done: Callable[[Any], None]) -> Callable[[list[Any]], Any]:
        compiler = compile_fx_module()
        # A copy: the compiler's passes change the graph that they are given.
        described = _with_described_inputs(graph_module, example_inputs)
        compile_part = around(_in_our_way(compiler.compile_fx_inner))  # it is called for a backward too, when that runs first
        with tracing_context(example_inputs, described) as context:
            compiled = compiler.compile_fx(described, context.fakes(), compile_part, config_patches=patches)
        done(context.fw_metadata)
        return _boxed(_innermost(cast(CompiledFunction, compiled), described))

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


@register_backend
def ts(graph_module: torch.fx.GraphModule, example_inputs: list[torch.Tensor]) -> CompiledFunction:
    """TorchScript, by tracing the graph with copies of the example inputs.

    Refuses (NotImplementedError) graphs that switch grad mode, autocast or inference mode, call autograd or change
    requires_grad: a TorchScript trace does not record these.
    """
    for node in graph_module.graph.nodes:
        if node.op in ("call_function", "call_method") and target_name(node) in _UNTRACEABLE:
            raise NotImplementedError(f"a TorchScript trace does not record {target_name(node)}")
    if "open_sizes" in graph_module.meta:
        graph_module.meta["size_conditions"] = None  # a trace has the sizes that it was made with
    outputs = graph_module.graph.output_node().args[0]
    if not isinstance(outputs, (tuple, list)) or not outputs:
        raise NotImplementedError("TorchScript needs a graph that returns at least one tensor")
    copies = [x.detach().clone().requires_grad_(x.requires_grad) for x in example_inputs]
    run = eager(graph_module, example_inputs)
    with warnings.catch_warnings(), torch.random.fork_rng(devices=_cuda_devices(example_inputs)):
        warnings.simplefilter("ignore")
        trace: Callable[..., CompiledFunction] = torch.jit.trace
        return trace(run, tuple(copies), check_trace=False)


# Functions that change what later operations mean, or ask autograd, without being operators.
_UNTRACEABLE = frozenset(
    {
        "_enter_autocast",
        "_enter_inference_mode",
        "_exit_autocast",
        "_exit_inference_mode",
        "_set_grad_enabled",
        "autocast_decrement_nesting",
        "autocast_increment_nesting",
        "backward",
        "grad",
        "is_grad_enabled",
        "requires_grad_",
        "set_autocast_cache_enabled",
        "set_autocast_dtype",
        "set_autocast_enabled",
        "set_grad_enabled",
    }
)


def _cuda_devices(tensors: Sequence[torch.Tensor]) -> list[int]:
    return sorted({x.device.index for x in tensors if x.device.type == "cuda"})


def _with_described_inputs(graph_module: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> torch.fx.GraphModule:
    """A copy of the graph with what torch.compile tells AOTAutograd and Inductor about the inputs.

    Parameters and buffers are static: their addresses stay from call to call, so that CUDA graphs need not copy them and
    the partitioner may count on them being there in the backward.
    """
    described = copy.deepcopy(graph_module)
    if next(described.parameters(), None) is not None or next(described.buffers(), None) is not None:
        return described  # not a captured graph: AOTAutograd finds its parameters itself
    described.meta["dynamo_compile_id"] = torch._guards.CompileId(frame_id=None, frame_compile_id=None)
    described.__dict__["_param_name_to_source"] = {}
    seen: dict[str, int] = {}
    for node, example in zip(described.graph.find_nodes(op="placeholder"), example_inputs, strict=True):
        text = str(node.meta.get("source", node.target))
        number = seen[text] = seen.get(text, 0) + 1  # values under keys that are objects have one text
        node._dynamo_source = InputSource(text if number == 1 else f"{text} #{number}")
        if is_static(example, text):
            node.meta["tensor_dict"] = {"_dynamo_static_input_type": "unguarded"}
    return described


def _boxed(compiled: CompiledFunction) -> Callable[[list[Any]], Any]:
    """A function of one list for one of positional arguments."""
    boxed = getattr(compiled, "boxed", None)
    if boxed is not None:
        return cast(Callable[[list[Any]], Any], boxed)
    return lambda inputs: compiled(*inputs)


def _innermost(compiled: CompiledFunction, graph_module: torch.fx.GraphModule) -> CompiledFunction:
    """AOTAutograd's function below the wrappers that only torch.compile's own frame hook and lifted parameters need."""
    function = compiled
    while hasattr(function, "_torchdynamo_orig_callable"):
        function = function._torchdynamo_orig_callable
    boxed = getattr(function, "__wrapped__", None)
    if "_param_name_to_source" not in graph_module.__dict__ or not callable(boxed):
        return compiled
    return _unboxed(boxed)


def _inductor_options(mode: str | None, options: dict[str, Any] | None) -> dict[str, Any] | None:
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


@register_backend
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


# Each of them makes its own tracing context, or needs none.
_OWN = (aot_eager, eager, inductor, python, ts)

_graph_count = itertools.count()
