"""What is cached, and what was not captured, for people who look into it.

Reads only; asking changes no entry and no counter.
"""

import dataclasses
import types
from typing import Any

import torch

from minidynamo import _C
from minidynamo._module import OptimizedModule


@dataclasses.dataclass(frozen=True)
class CacheEntry:
    """One captured form of a code object, and the conditions under which it is used.

    Attributes:
        guards: Python expressions over the frame's locals `L` and globals `G`, each with the user's line that caused it.
        code: the residual code that runs instead of the original.
        graph_module: the captured graph; None where nothing was computed with tensors.
        hits: how often the entry was used.
        source: the residual code as Python source.
    """

    guards: tuple[str, ...]
    code: types.CodeType
    graph_module: torch.fx.GraphModule | None
    hits: int
    source: str

    @property
    def graph(self) -> torch.fx.Graph | None:
        return None if self.graph_module is None else self.graph_module.graph

    def __str__(self) -> str:
        guards = "\n".join(f"    {guard}" for guard in self.guards)
        graph = "    (no tensor operation)" if self.graph is None else _indented(str(self.graph).strip("\n"))
        return (
            f"entry of {self.code.co_name}, {self.hits} hits\n  guards:\n{guards}\n  graph:\n{graph}\n"
            f"  residual code:\n{_indented(self.source)}"
        )


@dataclasses.dataclass(frozen=True)
class Uncaptured:
    """A frame that ran as it was, and why.

    Attributes:
        reason: short stable name; `detail` says it in words, for this case.
        filename, line, column, end_column: the place in the user's program that could not be captured; columns are -1 where
            they are not known.
        function: qualified name of the code at that place.
        user_stack: the calls that led there, as in a traceback; empty where there is only one frame.
    """

    code: types.CodeType
    reason: str
    detail: str
    filename: str
    line: int
    column: int
    end_column: int
    function: str
    user_stack: str

    def __str__(self) -> str:
        return f"{self.filename}:{self.line} in {self.function}: {self.reason}: {self.detail}"


def cache_entries(fn: Any) -> list[CacheEntry]:
    """The cached entries of a function, method, module, code object, or a wrapper of one, in the order they are tried.

    For a module these are the entries of its call and of its class's `forward`, which other instances share.

    Example:
        >>> f = minidynamo.optimize("eager")(lambda x: x + 1)
        >>> _ = f(torch.ones(2))
        >>> len(minidynamo.debug.cache_entries(f))
        1
    """
    return [
        CacheEntry(tuple(entry.guards), entry.code, entry.graph_module, entry.hits, entry.source)
        for code in codes_of(fn)
        for entry in _C.cache_entries(code)
    ]


def uncaptured() -> list[Uncaptured]:
    """The frames since the last reset that ran as they were."""
    return [Uncaptured(**record) for record in _C.uncaptured()]


def codes_of(fn: Any) -> list[types.CodeType]:
    """The code objects whose entries belong to `fn`.

    Raises TypeError where there is none, as for a builtin function.
    """
    if isinstance(fn, types.CodeType):
        return [fn]
    if isinstance(fn, OptimizedModule):
        fn = fn._orig_mod
    if isinstance(fn, torch.nn.Module):
        found = [_code(getattr(type(fn), name)) for name in ("__call__", "_call_impl")] + [_code(fn.forward)]
        return list(dict.fromkeys(code for code in found if code is not None))
    code = _code(fn)
    if code is None:
        code = _code(type(fn).__call__)
    if code is None:
        raise TypeError(f"{type(fn).__name__} {fn!r} has no Python code to have cache entries for")
    return [code]


def _code(function: Any) -> types.CodeType | None:
    while True:
        if isinstance(function, _C.OptimizedFunction):
            function = function.__wrapped__
        elif isinstance(function, types.MethodType):
            function = function.__func__
        elif isinstance(function, types.FunctionType):
            return function.__code__
        elif not isinstance(function, type) and hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        else:
            return None


def _indented(text: str) -> str:
    return "\n".join("    " + line for line in text.splitlines())
