"""The configuration of a capture: the backend and the options of one `optimize` call, as the native pipeline sees them.

The pipeline reads the flags of a configuration and hands it each captured graph; everything about the backend (errors,
state that it must not disturb) is handled here. Equal settings yield the same object, so that the pipeline may
tell configurations apart by identity and two wrappers with equal settings share cache entries.
"""

import collections
import dataclasses
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from minidynamo import _C, config
from minidynamo._capture import graph_source, torch_reset
from minidynamo._records import captures, log_records, structured_trace
from minidynamo.backends._resolve import compiles_by_pieces, resolve, takes_operators_apart
from minidynamo.backends._undisturbed import undisturbed
from minidynamo.exceptions import BackendCompilerFailed

if TYPE_CHECKING:
    from minidynamo._capture import guard_filter  # imported when a capture has a filter

Compiler = Callable[..., Any]

_known: weakref.WeakValueDictionary[tuple[object, ...], "CaptureConfig"] = weakref.WeakValueDictionary()
# Entries go with their configuration. `compile(f, backend="inductor")(x)` in a loop is to find its entry again, so the last ones
# made are kept: few of those with a backend of the program's own, which may hold anything.
_kept_with_name: "collections.deque[CaptureConfig]" = collections.deque(maxlen=16)
_kept_with_callable: "collections.deque[CaptureConfig]" = collections.deque(maxlen=4)


@dataclasses.dataclass(frozen=True, kw_only=True)
class CaptureSettings:
    """The settings of a capture besides its backend.

    Attributes:
        fullgraph: a frame that cannot be captured whole is an error.
        dynamic: as in `torch.compile`.
        mode, options: for the backend.
        name: shown in messages.
        recompile_limit: entries per code object under this configuration; None: `config.recompile_limit`.
        guard_filter_fn: which guards are to be checked (`guard_filter`); None: all.

    Raises:
        TypeError: a setting of a wrong type.
    """

    fullgraph: bool = False
    dynamic: bool | None = None
    mode: str | None = None
    options: dict[str, Any] | None = None
    name: str | None = None
    recompile_limit: int | None = None
    guard_filter_fn: "guard_filter.Filter | None" = None

    def __post_init__(self) -> None:
        if not isinstance(self.fullgraph, bool):
            raise TypeError(f"fullgraph must be a bool, got {self.fullgraph!r}")
        if self.dynamic is not None and not isinstance(self.dynamic, bool):
            raise TypeError(f"dynamic must be None or a bool, got {self.dynamic!r}")
        if self.options is not None and not isinstance(self.options, dict):
            raise TypeError(f"options must be a dict or None, got {self.options!r}")

    def key(self) -> tuple[object, ...] | None:
        """Equal for equal settings; None where an option cannot be hashed. Functions are told apart by identity."""
        try:
            options = None if self.options is None else frozenset((key, type(value), value) for key, value in self.options.items())
        except TypeError:
            return None
        filter_id = None if self.guard_filter_fn is None else id(self.guard_filter_fn)
        return self.fullgraph, self.dynamic, self.mode, options, self.name, self.recompile_limit, filter_id


class CaptureConfig:
    """The backend and the settings of one or more equal `optimize` calls.

    Attributes:
        fullgraph, dynamic, guard_filter_fn: as in `CaptureSettings`.
        backend_name: for messages and the printed form.
        settings: all of them.
    """

    __slots__ = (
        "__weakref__",
        "_backend",
        "_compiler",
        "_compiles_by_pieces",
        "_takes_operators_apart",
        "backend_name",
        "dynamic",
        "fullgraph",
        "guard_filter_fn",
        "settings",
    )

    def __init__(self, backend: str | Compiler, settings: CaptureSettings | None = None, *, looks_for_regions: bool = False) -> None:
        settings = settings or CaptureSettings()
        self._backend = backend
        self.settings = settings
        self.fullgraph = settings.fullgraph
        self.dynamic = settings.dynamic
        self.guard_filter_fn = settings.guard_filter_fn
        self.backend_name = backend if isinstance(backend, str) else _name_of(backend)
        self._compiler = resolve(backend, mode=settings.mode, options=settings.options)
        self._takes_operators_apart = takes_operators_apart(backend)
        self._compiles_by_pieces = looks_for_regions or compiles_by_pieces(backend, settings.mode, settings.options)

    @property
    def recompile_limit(self) -> int:
        own = self.settings.recompile_limit
        return config.recompile_limit if own is None else own

    @property
    def automatic_dynamic_shapes(self) -> bool:
        return config.automatic_dynamic_shapes

    @property
    def capture_scalar_outputs(self) -> bool:
        return config.capture_scalar_outputs

    @property
    def capture_dynamic_output_shape_ops(self) -> bool:
        return config.capture_dynamic_output_shape_ops

    @property
    def takes_operators_apart(self) -> bool:
        return self._takes_operators_apart

    @property
    def divides_graphs(self) -> bool:
        return config.regions and self._compiles_by_pieces

    @property
    def error_on_recompile(self) -> bool:
        return config.error_on_recompile

    @property
    def stop_where_slower(self) -> bool:
        return config.stop_where_slower and not config.force_break_at

    @property
    def fail_on_recompile_limit(self) -> bool:
        return config.fail_on_recompile_limit

    def with_backend(self, backend: "str | Compiler") -> "CaptureConfig":
        """The same settings with another backend, whose modes and options these are not."""
        if self._backend is backend or self._backend == backend:
            return self
        return _config_of(backend, dataclasses.replace(self.settings, mode=None, options=None))

    def wanted_guards(self, rows: "Sequence[guard_filter.Row]") -> list[bool]:
        """Which of the guards of a capture the user's filter wants, in their order."""
        from minidynamo._capture import guard_filter

        assert self.guard_filter_fn is not None
        return guard_filter.wanted(self.guard_filter_fn, rows)

    @property
    def trace_limits(self) -> tuple[int, int, int]:
        """Bytecode instructions, graph nodes and call depth after which a trace is given up."""
        return config.trace_instruction_limit, config.trace_node_limit, config.trace_depth_limit

    @property
    def capture_wait(self) -> float:
        return config.capture_wait

    @property
    def progress_interval(self) -> float:
        return config.progress_interval

    @property
    def force_break_at(self) -> int:
        return config.force_break_at

    @property
    def follows_captures(self) -> bool:
        return captures.follows()

    @property
    def logs(self) -> frozenset[str]:
        """The topics that `log` would write, so that no text is made for another."""
        return config.logs

    def log(self, topic: str, text: str) -> None:
        log_records.emit(topic, text)

    def compile_graph(self, graph_module: torch.fx.GraphModule, example_inputs: list[Any], name: str) -> Callable[..., Any] | None:
        """Runs the backend on a captured graph.

        Args:
            graph_module: the graph; it returns a tuple of tensors. `meta["open_sizes"]`, if it is there, has for each input the
                dimensions whose sizes may differ at the next call, or None for an int that may; `meta["size_conditions"]` is what
                the compiled code relies on then (see `_tracing_context`).
            example_inputs: a tensor for each placeholder, in order; an int for one that is left open.
            name: the name under which the residual code calls the result.

        Returns:
            What the backend made, called with the inputs as positional arguments; None if the backend failed and
            `config.suppress_errors` is on, in which case the frame is to run uncaptured.

        Raises:
            BackendCompilerFailed: the backend raised, or returned something that cannot be called.
        """
        graph_source.forget_with(graph_module)
        torch_reset.join()
        if log_records.enabled("graph"):
            log_records.emit("graph", f"{name} for backend {self.backend_name}\n{graph_source.graph_text(graph_module)}")
        if structured_trace.is_on():
            structured_trace.write_graph(graph_module)
        if log_records.enabled("regions") and "regions" in graph_module.meta:
            log_records.emit("regions", f"{name}: {graph_module.meta['regions']}")
        kept = _Kept(graph_module, example_inputs) if config.repro else None
        try:
            with undisturbed(), structured_trace.under_id(_C.open_capture_id()):
                compiled: Callable[..., Any] = _C.call_disabled(self._checked_compiler(kept), (graph_module, example_inputs), {})
        except BackendCompilerFailed as failure:
            file = ""
            if kept is not None:
                from minidynamo import _repro  # which needs this module

                file = _repro.write_failed(self, kept.graph_module, kept.inputs, failure)
            if not config.suppress_errors:
                raise
            text = f"{failure}; the frame runs uncaptured, since minidynamo.config.suppress_errors is on"
            log_records.warn(f"{text}\n{file}" if file else text)
            return None
        return compiled

    def _checked_compiler(self, kept: "_Kept | None") -> Compiler:
        """The backend's compiler; under `config.verify` one that compares what it makes with the graph.

        Args:
            kept: what `config.repro` writes where they differ; None for no file.
        """
        if not config.verify:
            return self._compiler
        from minidynamo import _verify  # which needs this module

        def found(difference: "_verify.GraphDifference") -> None:
            file = ""
            if kept is not None:
                from minidynamo import _repro

                file = _repro.write_different(self, kept.graph_module, kept.inputs, difference)
            log_records.warn(f"minidynamo: {difference}\n{file}" if file else f"minidynamo: {difference}")

        return _verify.checked_compiler(self, found)

    def __repr__(self) -> str:
        return f"CaptureConfig(backend={self.backend_name!r}, fullgraph={self.fullgraph}, dynamic={self.dynamic})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _config_of, (self._backend, self.settings)


def capture_config(backend: str | Compiler, **settings: Any) -> CaptureConfig:
    """The configuration with these settings (`CaptureSettings`): a live one that is equal, or a new one.

    Raises InvalidBackend (listing the known ones) for an unknown backend, TypeError or ValueError for a wrong option.
    """
    return _config_of(backend, CaptureSettings(**settings))


def _config_of(backend: str | Compiler, settings: CaptureSettings) -> CaptureConfig:
    key = settings.key()
    if key is None:
        return CaptureConfig(backend, settings)
    # A callable is told apart by identity: an equal one (say, of a class with __eq__) may behave otherwise.
    full_key = (backend if isinstance(backend, str) else (id(backend), type(backend)), *key)
    found = _known.get(full_key)
    is_same_filter = found is not None and found.guard_filter_fn is settings.guard_filter_fn
    if found is not None and is_same_filter and (isinstance(backend, str) or found._backend is backend):
        return found
    made = CaptureConfig(backend, settings)
    _known[full_key] = made
    (_kept_with_name if isinstance(backend, str) else _kept_with_callable).append(made)
    return made


class _Kept:
    """A graph and its inputs as they are before the backend, which may change the one and write the others."""

    def __init__(self, graph_module: torch.fx.GraphModule, inputs: list[Any]) -> None:
        from minidynamo._repro.inputs import copied_inputs  # which needs this module
        from minidynamo._verify.graphs import copied

        self.graph_module = copied(graph_module)
        self.inputs = copied_inputs(inputs) if config.verify else inputs


def let_go() -> None:
    """Lets go of configurations that no wrapper uses."""
    _kept_with_name.clear()
    _kept_with_callable.clear()


def _name_of(backend: Compiler) -> str:
    return str(getattr(backend, "__qualname__", None) or type(backend).__qualname__)
