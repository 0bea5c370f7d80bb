"""The exceptions that minidynamo raises of itself. What the captured program raises passes through unchanged."""

from collections.abc import Sequence

__all__ = [
    "BackendCompilerFailed",
    "DynamicSizeError",
    "InvalidBackend",
    "InvalidOptimizeTarget",
    "MinidynamoError",
    "RecompileError",
    "Unsupported",
]


class MinidynamoError(RuntimeError):
    """Base of all errors that minidynamo raises of itself.

    Example:
        >>> issubclass(BackendCompilerFailed, MinidynamoError)
        True
    """


class DynamicSizeError(MinidynamoError):
    """A size that `torch._dynamo.mark_dynamic` wants open is fixed by what the function does with it.

    The text names the input and its dimension, the line that fixes it, and what to do.
    """


class Unsupported(MinidynamoError):
    """A frame that must be captured whole (`fullgraph=True`) holds something that cannot be captured.

    The text has the place with its source line, what the reason means, what can be done, and the calls that led there.
    What is not known is empty, and numbers are -1 or 0.

    Attributes:
        reason: short stable name, one of `minidynamo.debug.break_reasons()`.
        detail: the reason in words, for this case.
        explanation: what the reason means, in general.
        hints: what can be done about it.
        filename: the file of the place in the user's program.
        line: the line there.
        column: where the expression begins, in bytes from 0; -1 if that is not known.
        end_column: where it ends; -1 if that is not known, or on a later line.
        function: qualified name of the function at the place.
        user_stack: the calls that led there, as in a traceback, innermost last.

    Example:
        >>> raise Unsupported("something is printed", reason="print")
        Traceback (most recent call last):
        minidynamo.exceptions.Unsupported: something is printed
    """

    def __init__(
        self,
        message: str = "",
        *,
        reason: str = "",
        detail: str = "",
        explanation: str = "",
        hints: Sequence[str] = (),
        filename: str = "",
        line: int = 0,
        column: int = -1,
        end_column: int = -1,
        function: str = "",
        user_stack: str = "",
    ) -> None:
        super().__init__(message)
        # Pickled by the base class: the message, and these.
        self.reason = reason
        self.detail = detail
        self.explanation = explanation
        self.hints = tuple(hints)
        self.filename = filename
        self.line = line
        self.column = column
        self.end_column = end_column
        self.function = function
        self.user_stack = user_stack


class RecompileError(MinidynamoError):
    """No entry fits a call, and the program wants no further capture: `config.error_on_recompile`, `config.fail_on_recompile_limit`
    or `torch.compiler.set_stance("fail_on_recompile")`.

    The text has the function, its place, and the guards that failed with the values seen.

    Example:
        >>> raise RecompileError("f is to be captured again")
        Traceback (most recent call last):
        minidynamo.exceptions.RecompileError: f is to be captured again
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
