"""Modes that hold for a part of a program: entries that are used and not made (`run`), graph breaks that are errors."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from minidynamo import _C
from minidynamo.exceptions import InvalidOptimizeTarget

Function = TypeVar("Function", bound=Callable[..., Any])


def run(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function that uses the captures that there are, and makes none: what no entry fits runs as it is.

    Args:
        fn: what `optimize` or `compile` gave, or a function that calls such.

    Example:
        >>> f = minidynamo.optimize("eager")(lambda x: x + 1)
        >>> run(f)(torch.ones(1)), minidynamo.stats()["graphs"]
        (tensor([2.]), 0)
    """
    if not callable(fn):
        raise InvalidOptimizeTarget(f"run needs a function or module, got {type(fn).__name__}")

    def cached_only(*args: Any, **kwargs: Any) -> Any:
        return _C.call_cached_only(fn, args, kwargs)

    return functools.update_wrapper(cached_only, fn) if hasattr(fn, "__name__") else cached_only


class error_on_graph_break:
    """A context manager and decorator: whether a graph break in the part of a program is an error (Unsupported).

    Around a call of a captured function or inside of one, nested as needed: the innermost one counts. A function that is captured
    with `fullgraph=True` may break nowhere.

    Args:
        error: False allows breaks in a part of a part where they are errors.

    Example:
        >>> f = minidynamo.optimize("eager")(lambda x: x + 1 if x.sum() > 0 else x)
        >>> with error_on_graph_break(True):
        ...     f(torch.ones(1))
        Traceback (most recent call last):
        minidynamo.exceptions.Unsupported: ...
    """

    def __init__(self, error: bool) -> None:
        if not isinstance(error, bool):
            raise TypeError(f"error_on_graph_break needs a bool, got {error!r}")
        self._error = error
        self._before: list[bool] = []

    def __enter__(self) -> None:
        self._before.append(_C.error_on_graph_break())
        _C.set_error_on_graph_break(self._error)

    def __exit__(self, *exception: object) -> None:
        _C.set_error_on_graph_break(self._before.pop())

    def __call__(self, fn: Function) -> Function:
        error = self._error

        @functools.wraps(fn)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with error_on_graph_break(error):
                return fn(*args, **kwargs)

        return wrapper  # type: ignore[return-value]
