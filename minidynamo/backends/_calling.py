"""How compiled functions are called: with positional arguments, or with one list that they empty ("boxed")."""

from collections.abc import Callable
from typing import Any, cast

from minidynamo.backends._registry import CompiledFunction


def is_boxed(compiled: Callable[..., Any]) -> bool:
    """True if it takes its inputs as one list. A wrapper that has the mark of what it wraps (as that of aot_module_simplified) says
    nothing about itself by it: it is called as torch.compile calls everything."""
    if not getattr(compiled, "_boxed_call", False):
        return False
    wrapped = getattr(compiled, "__wrapped__", None)
    return not getattr(wrapped, "_boxed_call", False)


def unboxed(boxed: Callable[[list[Any]], Any]) -> CompiledFunction:
    """A function of positional arguments for one that takes, and empties, a list."""

    def call(*inputs: Any) -> Any:
        return boxed(list(inputs))

    call.boxed = boxed  # type: ignore[attr-defined]
    return call


def boxed(compiled: CompiledFunction) -> Callable[[list[Any]], Any]:
    """A function of one list for one of positional arguments."""
    own = getattr(compiled, "boxed", None)
    if own is not None:
        return cast(Callable[[list[Any]], Any], own)
    return lambda inputs: compiled(*inputs)
