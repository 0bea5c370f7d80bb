"""How a captured function is copied and pickled: as the callable that it wraps would be.

A function is the same object after `copy` and `deepcopy`, and is pickled by its name. A bound method and a callable object
are copied with what they hold, so a copy of a model whose `forward` is captured calls the copy's parameters.
"""

import copy
import functools
import sys
import types
from typing import Any

from minidynamo import _C

BENEATH = frozenset({"__code__", "__defaults__", "__kwdefaults__", "__globals__", "__closure__", "__builtins__"})
"""What a function has besides its dict, and a captured one shows as the function beneath has it."""


def copied(captured: _C.OptimizedFunction) -> _C.OptimizedFunction:
    """The result of `copy.copy`."""
    wrapped = captured.__wrapped__
    return captured if isinstance(wrapped, types.FunctionType) else _with(captured, copy.copy(wrapped))


def deeply_copied(captured: _C.OptimizedFunction, memo: dict[int, Any]) -> _C.OptimizedFunction:
    """The result of `copy.deepcopy`."""
    wrapped = captured.__wrapped__
    return captured if isinstance(wrapped, types.FunctionType) else _with(captured, copy.deepcopy(wrapped, memo))


def _with(captured: _C.OptimizedFunction, wrapped: Any) -> _C.OptimizedFunction:
    made = _C.OptimizedFunction(wrapped, captured.config)
    made.__dict__.update(captured.__dict__)
    return made


def reduce(captured: Any) -> str | tuple[Any, ...]:
    """The answer to `pickle`: the name, if the captured object is found under it, else the parts that it is made of."""
    found = named(captured)
    if found is captured:
        return str(captured.__qualname__)
    wrapped = captured.__wrapped__
    # `g = compile(f)` where f itself is captured under its name: that one is pickled by name.
    if isinstance(found, _C.OptimizedFunction) and found.__wrapped__ is wrapped:
        wrapped = found
    names = (*functools.WRAPPER_ASSIGNMENTS, "__wrapped__")
    of_function = getattr(wrapped, "__dict__", {})
    state = {key: value for key, value in captured.__dict__.items() if key not in names and key not in of_function}
    return _captured, (wrapped, captured.config), state or None


def _captured(target: Any, config: Any) -> Any:
    from minidynamo._api.optimize import wrap

    return wrap(target, config)


def named(captured: Any) -> Any:
    """The object in the modules under the name of a captured function; None if there is none."""
    found = sys.modules.get(getattr(captured, "__module__", None) or "")
    for name in str(getattr(captured, "__qualname__", "")).split("."):
        found = getattr(found, name, None)
    return found
