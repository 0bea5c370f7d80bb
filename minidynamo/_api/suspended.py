"""Functions whose frames stop and go on: generators and `async def`. They are not captured, and their callers expect them as they are.

A wrapper would hide from `inspect.iscoroutinefunction` and the like, by which event loops and web frameworks go, how to call them.
"""

import inspect
import types
import weakref
from typing import Any

from minidynamo._records import log_records

_told: "weakref.WeakSet[types.CodeType]" = weakref.WeakSet()


def is_suspended(function: Any) -> bool:
    """True if a call makes a generator or a coroutine, and runs nothing yet."""
    return _kind(function) is not None


def as_it_is(function: Any) -> Any:
    """The function, after the log has said once that it runs uncaptured."""
    code = function.__code__
    if code not in _told:
        _told.add(code)
        text = (
            f"minidynamo runs {function.__qualname__} uncaptured and returns it as it is: {_kind(function)} stops and goes on, "
            f"which a captured call cannot do [generator]; at {code.co_filename}:{code.co_firstlineno}. "
            "Capture the functions that it calls, or the one that goes through what it yields"
        )
        if log_records.enabled("breaks"):
            log_records.emit("breaks", text)
        else:
            log_records.warn(text)
    return function


def _kind(function: Any) -> str | None:
    if not isinstance(function, (types.FunctionType, types.MethodType)):
        return None
    if inspect.isasyncgenfunction(function):
        return "an asynchronous generator function"
    if inspect.iscoroutinefunction(function):
        return "an asynchronous function"
    return "a generator function" if inspect.isgeneratorfunction(function) else None
