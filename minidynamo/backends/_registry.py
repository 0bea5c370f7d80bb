"""The backends that are registered by name: here, by packages (entry points), and by torch."""

import importlib
import sys
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar, cast, overload

import torch

from minidynamo.exceptions import BackendCompilerFailed, InvalidBackend

CompiledFunction = Callable[..., Any]
"""The result of a backend: takes the inputs of the graph as positional arguments and returns what the graph returns."""


class CompilerFunction(Protocol):
    """The form of a backend: compiles a graph for inputs like the examples. It may take `mode` and `options` as keywords."""

    def __call__(
        self, graph_module: torch.fx.GraphModule, example_inputs: list[torch.Tensor], /, *args: Any, **kwargs: Any
    ) -> CompiledFunction: ...


_AnyCompiler = TypeVar("_AnyCompiler", bound=Callable[..., Any])


# Other packages' backends: ours, and those written for torch.compile, which have the same signature.
_ENTRY_POINT_GROUPS = ("minidynamo_backends", "torch_dynamo_backends")


# The module of each of the package's own, which is imported when the backend is asked for.
_OWN = {
    "aot_eager": "minidynamo.backends._aot_eager",
    "eager": "minidynamo.backends._eager",
    "inductor": "minidynamo.backends._inductor",
    "python": "minidynamo.backends._python",
    "ts": "minidynamo.backends._torchscript",
}

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
    names = {*_OWN, *_registered, *(point.name for point in _entry_points())}
    if exclude_tags != ("debug", "experimental"):
        names |= {*_registry_of_torch().list_backends(exclude_tags or ())}
    return sorted(names)


def find(name: str) -> Callable[..., Any]:
    if name in _registered:
        return _registered[name]
    if name in _OWN:
        return cast(Callable[..., Any], getattr(importlib.import_module(_OWN[name]), name))
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


def own_name(compiler: Callable[..., Any]) -> str | None:
    """The name of one of the package's own backends; None for any other."""
    for name, module in _OWN.items():
        if module in sys.modules and compiler is getattr(sys.modules[module], name):
            return name
    return None


def _entry_points() -> list[Any]:
    from importlib.metadata import entry_points

    return [point for group in _ENTRY_POINT_GROUPS for point in entry_points(group=group)]


def _registry_of_torch() -> Any:
    """Where torch keeps the backends of torch.compile. Imports torch._dynamo."""
    import torch._dynamo.backends.registry as registry

    return registry
