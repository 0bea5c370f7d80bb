"""The public entry points: wrapping functions and modules, switching capture off, counters.

Only decides what a target is and with which configuration it is wrapped; capturing is the native extension's.
"""

import functools
import inspect
import sys
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, TypeVar, Unpack, cast, overload

import torch

from minidynamo import _C
from minidynamo._api import captured_function, rules, suspended, switched_off
from minidynamo._api.module import OptimizedModule
from minidynamo._capture import torch_reset
from minidynamo._capture.capture_config import CaptureConfig, CaptureSettings, capture_config, let_go
from minidynamo.exceptions import InvalidOptimizeTarget

if TYPE_CHECKING:
    from minidynamo._C import Statistics

Target = TypeVar("Target", bound=Callable[..., Any])


Module = TypeVar("Module", bound=torch.nn.Module)
Class = TypeVar("Class", bound=type)
Backend = Callable[[torch.fx.GraphModule, list[torch.Tensor]], Callable[..., Any]]


class Decorator(Protocol):
    """The result of `optimize` and `compile` without a target, for a type checker: the target keeps its type."""

    def __call__(self, target: Target, /) -> Target: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *exception: object) -> None: ...


class TargetOrDecorator(Protocol):
    """The result of bare `optimize` for a function that could be a backend."""

    @overload
    def __call__(self, target: Target, /) -> Target: ...
    @overload
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...


class Settings(TypedDict, total=False):
    """The parameters that `optimize` and `compile` take for any kind of target."""

    fullgraph: bool
    nopython: bool
    dynamic: bool | None
    mode: str | None
    options: dict[str, Any] | None
    name: str | None
    disable: bool
    recompile_limit: int | None
    isolate_recompiles: bool
    dynamic_shapes: Any
    shapes_spec: Any


@overload
def optimize(backend: str | None = None, **settings: Unpack[Settings]) -> Decorator: ...


@overload
def optimize(backend: Module, **settings: Unpack[Settings]) -> Module: ...


@overload
def optimize(backend: Class, **settings: Unpack[Settings]) -> Class: ...


@overload
def optimize(backend: Backend, **settings: Unpack[Settings]) -> TargetOrDecorator: ...


@overload
def optimize(backend: Target, **settings: Unpack[Settings]) -> Target: ...


def optimize(
    backend: str | Callable[..., Any] | None = None,
    *,
    fullgraph: bool = False,
    nopython: bool = False,
    dynamic: bool | None = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    dynamic_shapes: Any = None,
    shapes_spec: Any = None,
) -> Any:
    """Captures calls of a function, bound method or module into graphs and runs them through a backend.

    Works as a decorator with arguments (`@optimize("eager")`, `@optimize(my_compiler)`), bare (`@optimize`, with the
    default backend), of classes too, as a plain call (`optimize("eager")(f)`, `optimize(model)`), and as a context manager
    (`with optimize("eager"): ...`), which captures what the block calls.

    Args:
        backend: a registered name (`list_backends()`), or a callable `(GraphModule, example_inputs) -> callable`. A module,
            a class or a callable that cannot take two positional arguments is the target itself. A function that takes
            exactly two could be either: what `optimize` returns for it decorates when called with one callable, and is
            the captured function otherwise. None: the default one, "inductor" unless `torch.compiler.set_default_backend`
            named another.
        fullgraph: raise Unsupported where a frame cannot be captured as one graph; `nopython` is its old name.
        dynamic: as in `torch.compile`.
        mode: "default", "reduce-overhead", "max-autotune"..., excludes `options`.
        options: passed to the backend; but `guard_filter_fn`, which says what guards are checked, as in `torch.compile`.
        name: shown in messages.
        disable: hand the target back as it is.
        recompile_limit: for this call, in place of `config.recompile_limit`.
        isolate_recompiles: share no cache entries with other wrappers of the same code.
        dynamic_shapes: not supported; anything but None raises ValueError. `shapes_spec` is torch 2.13's name of it.

    Returns:
        A decorator; or, given the target itself, the captured function or an `OptimizedModule`.

    Raises:
        InvalidBackend: unknown backend, with the list of those known.
        InvalidOptimizeTarget: a target that cannot be called (a TypeError).
        TypeError: an argument of a wrong type.
    """
    settings = Settings(
        fullgraph=fullgraph,
        nopython=nopython,
        dynamic=dynamic,
        mode=mode,
        options=options,
        name=name,
        disable=disable,
        recompile_limit=recompile_limit,
        isolate_recompiles=isolate_recompiles,
        dynamic_shapes=dynamic_shapes,
        shapes_spec=shapes_spec,
    )
    if backend is None or isinstance(backend, str) or not callable(backend):
        return _decorator(backend, **settings)
    takes_one, takes_two = _accepts(backend, 1), _accepts(backend, 2)
    # A callable that takes one argument is a target too: a lone callable could be that argument.
    if isinstance(backend, (torch.nn.Module, type)) or takes_one or not takes_two:
        return _decorator(None, **settings)(backend)
    return _TargetOrBackend(backend, settings)


@overload
def compile(model: None = None, *, backend: str | Callable[..., Any] | None = None, **settings: Unpack[Settings]) -> Decorator: ...


@overload
def compile(model: Target, *, backend: str | Callable[..., Any] | None = None, **settings: Unpack[Settings]) -> Target: ...


def compile(
    model: Callable[..., Any] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] | None = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    dynamic_shapes: Any = None,
    shapes_spec: Any = None,
    nopython: bool = False,
) -> Any:
    """`torch.compile`, by minidynamo: same arguments, same result.

    Args:
        model: function, bound method, module or class; without it, the result is a decorator and context manager.

    The others are those of `optimize`.

    Example:
        >>> f = minidynamo.compile(lambda x: x.sin().cos(), backend="eager")
        >>> f(torch.zeros(2))
        tensor([1., 1.])
    """
    decorator = _decorator(
        backend,
        fullgraph=fullgraph,
        nopython=nopython,
        dynamic=dynamic,
        mode=mode,
        options=options,
        name=name,
        disable=disable,
        recompile_limit=recompile_limit,
        isolate_recompiles=isolate_recompiles,
        dynamic_shapes=dynamic_shapes,
        shapes_spec=shapes_spec,
    )
    return decorator if model is None else decorator(model)


def _decorator(
    backend: Any,
    *,
    fullgraph: bool = False,
    nopython: bool = False,
    options: dict[str, Any] | None = None,
    mode: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    dynamic_shapes: Any = None,
    shapes_spec: Any = None,
    **settings: Any,
) -> Any:
    """Settings, checked; a decorator."""
    for argument, value in (("dynamic_shapes", dynamic_shapes), ("shapes_spec", shapes_spec)):
        if value is not None:
            raise ValueError(f"compile({argument}=...) is not supported: mark the dimensions of the inputs instead")
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if recompile_limit is not None and (isinstance(recompile_limit, bool) or recompile_limit < 1):
        raise ValueError(f"recompile_limit must be at least 1, got {recompile_limit!r}")
    if not isinstance(nopython, bool):
        raise TypeError(f"nopython must be a bool, got {nopython!r}")
    guard_filter_fn = None
    if isinstance(options, dict) and "guard_filter_fn" in options:
        guard_filter_fn = options["guard_filter_fn"]
        if guard_filter_fn is not None and not callable(guard_filter_fn):
            raise TypeError(f"guard_filter_fn must be a function, got {guard_filter_fn!r}")
        options = {key: value for key, value in options.items() if key != "guard_filter_fn"} or None
    if disable:
        return _Unchanged()
    settings |= {
        "fullgraph": nopython or fullgraph,
        "mode": mode,
        "options": options,
        "recompile_limit": recompile_limit,
        "guard_filter_fn": guard_filter_fn,
    }
    backend = default_backend() if backend is None else backend
    return _Decorator(CaptureConfig(backend, CaptureSettings(**settings)) if isolate_recompiles else capture_config(backend, **settings))


def default_backend() -> str | Callable[..., Any]:
    """The backend where none is named: what `torch.compiler.set_default_backend` was given, or "inductor"."""
    registry = sys.modules.get("torch._dynamo.backends.registry")  # who has said nothing has not imported it either
    return "inductor" if registry is None else cast("str | Callable[..., Any]", registry.get_default_backend())


def compile_in_place(module: torch.nn.Module, **settings: Any) -> None:
    """`nn.Module.compile`, by minidynamo: later calls of `module` itself are captured, without a wrapper around it.

    Args:
        module: the module; its class, state_dict and hooks stay as they are.
        settings: as for `compile`.
    """
    module._compiled_call_impl = compile(module._call_impl, **settings)


@overload
def disable(fn: None = None, recursive: bool = True, *, reason: str | None = None) -> Decorator: ...


@overload
def disable(fn: Target, recursive: bool = True, *, reason: str | None = None) -> Target: ...


def disable(fn: Callable[..., Any] | None = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Keeps a function, method, module or class out of any capture.

    A call of it from a captured function is a graph break with the reason "disabled-function".

    Args:
        fn: what to keep out; without it, the result is a decorator.
        recursive: with everything that it calls. With False, functions that it calls are captured as frames of their own;
            this marks the function's code, so it holds for all functions made by the same `def`.
        reason: told in reports of the break, and kept as `_minidynamo_disable_reason`.

    Returns:
        A wrapper of `fn`, whose `__wrapped__` is `fn`; a class or, with `recursive=False`, `fn` itself. `remove_rule` undoes
        the latter.

    Example:
        >>> @minidynamo.disable(reason="reads a socket")
        ... def receive(x):
        ...     return x + 1
    """
    if fn is None:
        return functools.partial(disable, recursive=recursive, reason=reason)
    if not callable(fn):
        raise InvalidOptimizeTarget(f"disable needs a function, module or class, got {type(fn).__name__}")
    if isinstance(fn, type):
        return _disable_class(fn, recursive, reason)
    if not recursive:
        target = _innermost(fn)
        function = target.__func__ if isinstance(target, types.MethodType) else target
        if not isinstance(function, types.FunctionType):
            raise InvalidOptimizeTarget(f"disable(recursive=False) needs a Python function or method, got {type(fn).__name__}")
        rules.keep_out(function, reason)
        return target
    if isinstance(fn, torch.nn.Module):
        return OptimizedModule(fn._orig_mod if isinstance(fn, OptimizedModule) else fn, None)
    return rules.without_capture(_innermost(fn), reason)


def _disable_class(target: type, recursive: bool, reason: str | None) -> type:
    """A class that is made and called uncaptured, also by what it inherits; a module also by those who call what `module(...)` runs."""
    names = ("__init__", "__call__", "_call_impl") if issubclass(target, torch.nn.Module) else ("__init__", "__call__")
    for name in names:
        # Without `recursive` the code itself is marked, and an inherited one is other classes' as well.
        method = getattr(target, name, None) if recursive else target.__dict__.get(name)
        if isinstance(method, types.FunctionType):
            setattr(target, name, disable(method, recursive, reason=reason))
    return target


def is_compiling() -> bool:
    """True if the calling code is being captured right now. False in the captured code's runs."""
    return _C.is_tracing()


def reset() -> None:
    """Forgets every cached entry, every frame that was given up, and all counters. The user's rules stay."""
    _C.reset()
    let_go()


def stats() -> "Statistics":
    """Counters since the last reset.

    `frames` that were looked at and `captured`; `graphs` with their `operators`; `graph_breaks`, counted by reason; `guards`,
    `entries` and `cache_hits`; `phases`, wall seconds by name (evaluate, propagate, guards, graph_export, backend, imports, codegen).
    """
    return _C.statistics()


class _Decorator:
    """Wraps targets with one configuration."""

    def __init__(self, config: CaptureConfig) -> None:
        self.config = config
        self._regions: list[_C.CaptureRegion] = []

    def __call__(self, target: Any) -> Any:
        return wrap(target, self.config)

    def __enter__(self) -> None:
        """Captures the functions that the block calls on this thread, as if each were wrapped; its own statements are not captured."""
        if not switched_off.is_switched_off():
            self._regions.append(_C.CaptureRegion(self.config))

    def __exit__(self, *exception: object) -> None:
        if not self._regions:
            return
        if not self._regions[-1].leave():
            raise RuntimeError("a block under `with minidynamo.optimize(...)` was left on another thread than it was entered on")
        self._regions.pop()

    def __repr__(self) -> str:
        return f"<minidynamo.optimize with {self.config!r}>"


class _Unchanged:
    """The result of `compile(disable=True)`: returns targets as they are."""

    def __call__(self, target: Any) -> Any:
        return target

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        pass


class _TargetOrBackend:
    """The result of `optimize(f)` for a function of two arguments, which may be a target (bare `@optimize`) or a backend.

    Calls tell: one callable alone is a target to decorate, since `f` itself cannot be called with one argument. Defining
    it in a class body or binding it to an instance makes it a target for good.
    """

    def __init__(self, function: Callable[..., Any], settings: Settings) -> None:
        self._settings = settings
        functools.update_wrapper(self, function)

    @functools.cached_property
    def _optimized(self) -> Any:
        return _decorator(None, **self._settings)(self.__wrapped__)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and callable(args[0]):
            return _decorator(self.__wrapped__, **self._settings)(args[0])
        return self._optimized(*args, **kwargs)

    @functools.cached_property
    def _as_backend(self) -> Any:
        return _decorator(self.__wrapped__, **self._settings)

    @property
    def __class__(self) -> type:  # as a captured function
        return types.FunctionType

    @__class__.setter
    def __class__(self, value: type) -> None:
        raise AttributeError("__class__")

    def __getattr__(self, name: str) -> Any:
        if name in captured_function.BENEATH and "__wrapped__" in self.__dict__:
            return getattr(self.__wrapped__, name)
        raise AttributeError(f"the function {self.__dict__.get('__qualname__')} has no attribute {name!r}")

    def __copy__(self) -> "_TargetOrBackend":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "_TargetOrBackend":
        return self

    def __reduce_ex__(self, protocol: Any) -> str | tuple[Any, ...]:
        if captured_function.named(self) is self:
            return str(self.__qualname__)
        return _TargetOrBackend, (self.__wrapped__, self._settings)

    def __enter__(self) -> None:
        self._as_backend.__enter__()

    def __exit__(self, *exception: object) -> None:
        self._as_backend.__exit__(*exception)

    def __set_name__(self, owner: type, name: str) -> None:
        setattr(owner, name, self._optimized)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self._optimized.__get__(instance, owner)

    __wrapped__: Callable[..., Any]
    __qualname__: str


def wrap(target: Any, settings: CaptureConfig) -> Any:
    """`target` captured with `settings`: an OptimizedModule for a module, else a native callable."""
    if not callable(target):
        raise InvalidOptimizeTarget(f"optimize needs a function, method or module, got {type(target).__name__}: {target!r}")
    if switched_off.is_switched_off():
        return target
    if isinstance(target, OptimizedModule):
        return OptimizedModule(target._orig_mod, settings)
    if isinstance(target, torch.nn.Module):
        return OptimizedModule(target, settings)
    if isinstance(target, type):
        return _wrap_class(target, settings)
    function = _innermost(target)
    if not settings.fullgraph and suspended.is_suspended(function):
        return suspended.as_it_is(function)
    if not isinstance(function, (types.FunctionType, types.MethodType)):
        function = _as_function(function)
    is_object = not isinstance(function, (types.FunctionType, types.MethodType))
    named = types.MethodType(type(function).__call__, function) if is_object else function
    return _named_after(named, _C.OptimizedFunction(function, settings))


def _wrap_class(target: type, settings: CaptureConfig) -> type:
    """A class whose instances' calls are captured: of modules what `module(...)` runs, hooks and all, of others `__call__`."""
    name = "_call_impl" if issubclass(target, torch.nn.Module) else "__call__"
    call = getattr(target, name, None)
    if not isinstance(call, types.FunctionType) and not isinstance(call, _C.OptimizedFunction):
        raise InvalidOptimizeTarget(f"class {target.__qualname__} has no __call__ to optimize: wrap its methods")
    setattr(target, name, wrap(call, settings))
    return target


def _named_after(function: Callable[..., Any], optimized: _C.OptimizedFunction) -> _C.OptimizedFunction:
    """functools.update_wrapper, for a native object whose `__wrapped__` is there already."""
    for name in functools.WRAPPER_ASSIGNMENTS:
        if hasattr(function, name):
            setattr(optimized, name, getattr(function, name))
    optimized.__dict__.update(function.__dict__)
    return optimized


def _innermost(target: Any) -> Any:
    """A wrapper of this package is taken off before another goes on: the last settings win."""
    while isinstance(target, (_C.OptimizedFunction, _TargetOrBackend)):
        target = target.__wrapped__
    if isinstance(target, types.MethodType) and isinstance(target.__func__, _C.OptimizedFunction):
        return types.MethodType(_innermost(target.__func__), target.__self__)
    return target


def _as_function(target: Callable[..., Any]) -> Callable[..., Any]:
    """A Python function that calls `target`: there must be a frame to capture."""
    if isinstance(type(target).__call__, types.FunctionType):
        return target

    def call_target(*args: Any, **kwargs: Any) -> Any:
        return target(*args, **kwargs)

    return functools.update_wrapper(call_target, target)


def _accepts(target: Any, count: int) -> bool:
    """True if `target` can be called with `count` positional arguments."""
    try:
        inspect.signature(target).bind(*(None,) * count)
    except (TypeError, ValueError):
        # No signature: builtins such as torch.relu. They are targets, never backends.
        return False
    return True


torch_reset.follow(reset)
