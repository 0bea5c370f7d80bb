"""A user's rules about functions and files: which calls are opaque to a capture, which are constants, which are kept out.

Only translates the rules for the native extension, which keeps them; it decides by them while a frame is captured. A rule made or
taken away later changes nothing about entries that are cached: `reset()` forgets these, and keeps the rules.
"""

import functools
import inspect
import os
import types
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast, overload

import torch

from minidynamo import _C, config
from minidynamo.exceptions import InvalidOptimizeTarget

Function = TypeVar("Function", bound=Callable[..., Any])


@overload
def allow_in_graph(fn: Function) -> Function: ...


@overload
def allow_in_graph(fn: Sequence[Function]) -> list[Function]: ...


def allow_in_graph(fn: Any) -> Any:
    """Makes every call of a function one node of the graph, whatever the function does. Nothing looks inside.

    While tracing, the function runs once on tensors without data, to learn the form of its result. When the graph runs, the
    function runs; a backend that traces further (AOTAutograd) sees the operations inside. It must compute tensors, or numbers,
    strings and the like, from its arguments alone: anything else it reads is not guarded. The node stays if its result is unused.

    Args:
        fn: a function, a builtin function or a class; a list or tuple of these. Works as a decorator.

    Returns:
        `fn`; a list for a list or tuple.

    Undo it with `remove_rule`.

    Example:
        >>> @minidynamo.allow_in_graph
        ... def scaled(x):
        ...     return x * 2
        >>> report = minidynamo.explain(lambda x: scaled(x) + 1)(torch.ones(2))
        >>> report.op_count
        2
    """
    if isinstance(fn, (list, tuple)):
        return [allow_in_graph(one) for one in fn]
    _C.allow_in_graph(_checked(fn, "allow_in_graph"))
    return fn


def assume_constant_result(fn: Function) -> Function:
    """Takes the result of a function for a constant: it is called while a frame is captured, and not when the graph runs.

    Nothing that the function reads is guarded, so a later change is not seen by entries that exist. Arguments must be
    constants (numbers, strings, None and the like) or objects from before the call, of which the entry then holds for these
    very objects only; anything else is a break. The result may be a constant, or any object: later calls get the same one.

    Args:
        fn: a function. Works as a decorator, of methods too.

    Undo it with `remove_rule`.

    Example:
        >>> @minidynamo.assume_constant_result
        ... def width():
        ...     return int(open("/sys/width").read())
    """
    _C.assume_constant_result(_checked(fn, "assume_constant_result"))
    return fn


@overload
def disallow_in_graph(fn: Function) -> Function: ...


@overload
def disallow_in_graph(fn: Sequence[Function]) -> list[Function]: ...


def disallow_in_graph(fn: Any) -> Any:
    """Makes every call of a function a graph break, whatever is known of it: it runs in Python, between two graphs.

    Args:
        fn: a function or builtin function (`torch.sub`); a list or tuple of these. Works as a decorator.

    Returns:
        What was given; a list for a list or tuple.

    Undo it with `remove_rule`.

    Example:
        >>> _ = minidynamo.disallow_in_graph(torch.sub)
        >>> minidynamo.explain(lambda x: torch.sub(x.sin(), 1).cos())(torch.ones(1)).graph_count
        2
        >>> minidynamo.remove_rule(torch.sub)
        True
    """
    if isinstance(fn, (list, tuple)):
        return [disallow_in_graph(one) for one in fn]
    _C.disallow_in_graph(_checked(fn, "disallow_in_graph"))
    return fn


def substitute_in_graph(
    original_fn: Callable[..., Any], *, can_constant_fold_through: bool = False, skip_signature_check: bool = False
) -> Callable[[Function], Function]:
    """Has a Python function traced wherever another one, of which nothing is known, is called: `torch.compiler.substitute_in_graph`.

    Args:
        original_fn: a function, most often one written in C. Outside of captures it stays what it is.
        can_constant_fold_through: accepted without effect: the trace computes known values anyway.
        skip_signature_check: take a function with other parameters.

    Returns:
        A decorator for the function to be traced. It returns a function that calls the original.

    Undo it with `remove_rule(original_fn)`.

    Raises:
        TypeError: not a function, or one with other parameters.

    Example:
        >>> import operator
        >>> @substitute_in_graph(operator.indexOf)
        ... def indexOf(a, b, /):
        ...     for i, item in enumerate(a):
        ...         if item is b or item == b:
        ...             return i
        ...     raise ValueError("sequence.index(x): x not in sequence")
        >>> minidynamo.remove_rule(operator.indexOf)
        True
    """
    _checked(original_fn, "substitute_in_graph")
    if isinstance(original_fn, type):
        raise TypeError(f"substitute_in_graph needs a function, got the class {original_fn!r}")

    def register(traceable_fn: Function) -> Function:
        if type(traceable_fn) is not types.FunctionType:
            raise TypeError(f"substitute_in_graph needs a Python function to trace, got {traceable_fn!r}")
        if not skip_signature_check and not _take_the_same(original_fn, traceable_fn):
            raise TypeError(
                f"{_name_of(traceable_fn)} takes other arguments than {_name_of(original_fn)}: "
                f"{inspect.signature(traceable_fn)} and {inspect.signature(original_fn)}; skip_signature_check=True takes it all the same"
            )

        @functools.wraps(traceable_fn)
        def original(*args: Any, **kwargs: Any) -> Any:
            return original_fn(*args, **kwargs)

        _C.substitute_in_graph(original_fn, traceable_fn)
        return original  # type: ignore[return-value]

    return register


def _name_of(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__qualname__", function))


def _take_the_same(first: Callable[..., Any], second: Callable[..., Any]) -> bool:
    """True if two functions can be called in the same ways; one whose signature cannot be had takes anything."""

    def form(function: Callable[..., Any]) -> list[tuple[Any, ...]]:
        kinds = inspect.Parameter
        return [
            (p.kind, None if p.kind in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD) else p.name, p.default)
            for p in inspect.signature(function).parameters.values()
        ]

    try:
        return form(first) == form(second)
    except ValueError:
        return True


def remove_rule(fn: Callable[..., Any]) -> bool:
    """Removes the rule that `allow_in_graph`, `disallow_in_graph`, `disable(recursive=False)` and the like made for a function.

    The wrapper that `disable(fn)` returns is undone by calling `fn` itself, its `__wrapped__`.

    Returns:
        True if there was such a rule.
    """
    had_rule = _C.remove_rule(fn)
    code = getattr(fn, "__code__", None)
    return (isinstance(code, types.CodeType) and _C.unskip(code)) or had_rule


def skip(*names: str | os.PathLike[str]) -> None:
    """Keeps the functions of modules and files out of captures: neither captured as frames, nor traced into.

    A call of such a function from a captured one is a graph break with the reason "skipped-file". Functions that it calls in
    other files are captured as frames of their own.

    Args:
        names: modules by name (`pkg`, `pkg.sub`), each with everything below it; files and directories by path; glob patterns
            of paths (`*/vendored/*.py`), where `*` matches slashes too. Added to `config.skip`, which `MINIDYNAMO_SKIP`
            (comma separated) fills at import.

    A module's code is known by its file; it need not be imported yet. Undo it with `unskip`.
    """
    added = config.skip_entries(names)
    config.skip = tuple(dict.fromkeys(config.skip + added))


def unskip(*names: str | os.PathLike[str]) -> None:
    """Takes rules of `skip` away, given as they were there.

    Raises ValueError for one that does not exist.
    """
    removed = config.skip_entries(names)
    for entry in removed:
        if entry not in config.skip:
            raise ValueError(f"minidynamo.unskip: {entry!r} is not skipped; config.skip is {config.skip!r}")
    config.skip = tuple(entry for entry in config.skip if entry not in removed)


def graph_break() -> None:
    """Ends the graph here, if the calling code is being captured. Does nothing otherwise."""


def without_capture(
    target: Callable[..., Any], reason: str | None, *, named_after: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """A wrapper whose calls, with all that they call, are not captured, and which is not traced into."""

    def disabled(*args: Any, **kwargs: Any) -> Any:
        return _C.call_disabled(target, args, kwargs)

    _C.keep_code_out(disabled.__code__)  # one code object, whatever is wrapped
    functools.update_wrapper(disabled, target if named_after is None else named_after)
    disabled._minidynamo_disable_reason = reason  # type: ignore[attr-defined]
    return disabled


def keep_out(function: types.FunctionType, reason: str | None) -> None:
    """The function itself is neither captured nor traced into; what it calls may be captured."""
    function._minidynamo_disable_reason = reason  # type: ignore[attr-defined]
    _C.keep_code_out(function.__code__)


def _checked(fn: Any, rule: str) -> Callable[..., Any]:
    if not callable(fn) or isinstance(fn, torch.nn.Module):
        raise InvalidOptimizeTarget(f"{rule} needs a function, got {type(fn).__name__}: {fn!r}")
    if isinstance(fn, types.MethodType):
        raise InvalidOptimizeTarget(f"{rule} needs a function, got the bound method {fn!r}: give {fn.__qualname__} as the class has it")
    return cast(Callable[..., Any], fn)


def _apply_skip_rules() -> None:
    _C.set_skip_rules([(_kind(entry), entry) for entry in config.skip])


def _kind(entry: str) -> str:
    if config.is_pattern(entry):
        return "pattern"
    return "path" if os.path.isabs(entry) else "module"


config.when_changed("skip", _apply_skip_rules)
