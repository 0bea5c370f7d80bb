"""The exceptions that minidynamo raises of itself. What the captured program raises passes through unchanged."""

from collections.abc import Sequence

__all__ = [
    "BackendCompilerFailed",
    "InvalidBackend",
    "InvalidOptimizeTarget",
    "MinidynamoError",
    "Unsupported",
]


class MinidynamoError(RuntimeError):
    """Base of all errors that minidynamo raises of itself.

    Example:
        >>> issubclass(BackendCompilerFailed, MinidynamoError)
        True
    """


class Unsupported(MinidynamoError):
    """A frame that must be captured whole (`fullgraph=True`) holds something that cannot be captured.

    Example:
        >>> raise Unsupported("the graph breaks here: bool(tensor)")
        Traceback (most recent call last):
        minidynamo.exceptions.Unsupported: the graph breaks here: bool(tensor)
    """


class BackendCompilerFailed(MinidynamoError):
    """A backend raised while it compiled a graph, or returned something that cannot be called.

    Attributes:
        backend_name: the backend, as it was given or registered.
        inner_exception: what the backend raised; also the `__cause__`.

    Example:
        >>> error = BackendCompilerFailed("mine", ValueError("no such device"))
        >>> str(error)
        "backend='mine' raised:\\nValueError: no such device"
    """

    def __init__(self, backend_name: str, inner_exception: BaseException) -> None:
        self.backend_name = backend_name
        self.inner_exception = inner_exception
        super().__init__(f"backend={backend_name!r} raised:\n{type(inner_exception).__name__}: {inner_exception}")
        self.__cause__ = inner_exception

    def __reduce__(self) -> tuple[type["BackendCompilerFailed"], tuple[str, BaseException]]:
        return type(self), (self.backend_name, self.inner_exception)


class InvalidBackend(MinidynamoError, ValueError):
    """No backend is registered under the name that was asked for.

    Attributes:
        name: the unknown name.
        known: the names that would have been accepted.

    Example:
        >>> str(InvalidBackend("inducter", ["eager", "inductor"]))
        "unknown backend 'inducter' (did you mean 'inductor'?); known backends: eager, inductor"
    """

    def __init__(self, name: str, known: Sequence[str] = ()) -> None:
        import difflib

        self.name = name
        self.known = list(known)
        close = difflib.get_close_matches(name, self.known, n=1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        listing = f"; known backends: {', '.join(self.known)}" if self.known else ""
        super().__init__(f"unknown backend {name!r}{hint}{listing}")

    def __reduce__(self) -> tuple[type["InvalidBackend"], tuple[str, list[str]]]:
        return type(self), (self.name, self.known)


class InvalidOptimizeTarget(MinidynamoError, TypeError):
    """`optimize` was given something that it cannot wrap: not a function, bound method, callable object or module.

    Example:
        >>> raise InvalidOptimizeTarget("optimize expects a callable, got int")
        Traceback (most recent call last):
        minidynamo.exceptions.InvalidOptimizeTarget: optimize expects a callable, got int
    """
