"""Reads what is cached, and what was not captured, for debugging.

Read-only: no function changes an entry or a counter.
"""

import dataclasses
import os
import types
from collections.abc import Callable
from typing import Any

import torch

from minidynamo import _C, config
from minidynamo._api.module import OptimizedModule
from minidynamo._capture import graph_source
from minidynamo._records import timeline
from minidynamo._records.breaks import BreakReason, Uncaptured, break_reasons, record_of
from minidynamo._records.captures import Capture, captures

__all__ = [
    "BreakReason",
    "CacheEntry",
    "Capture",
    "Uncaptured",
    "break_reasons",
    "cache_entries",
    "captures",
    "codes_of",
    "graph_breaks",
    "mirror_differences",
    "uncaptured",
    "write_timeline",
]


@dataclasses.dataclass(frozen=True)
class CacheEntry:
    """One captured form of a code object, and the conditions under which it is used.

    Attributes:
        id: of the capture that made it (`captures`), such as "3/1".
        guards: Python expressions over the frame's locals `L` and globals `G`, each with the user's line that caused it.
        code: the residual code that runs instead of the original.
        graph_module: the captured graph; None where nothing was computed with tensors.
        hits: how often the entry was used.
        source: the residual code as Python source.
        guard_seconds: the time that one check of the guards took, when the entry was made.
    """

    id: str
    guards: tuple[str, ...]
    code: types.CodeType
    graph_module: torch.fx.GraphModule | None
    hits: int
    source: str
    guard_seconds: float

    @property
    def graph(self) -> torch.fx.Graph | None:
        return None if self.graph_module is None else self.graph_module.graph

    def __str__(self) -> str:
        guards = "\n".join(f"    {guard}" for guard in self.guards)
        graph = "    (no tensor operation)" if self.graph_module is None else _indented(graph_source.graph_text(self.graph_module))
        return (
            f"entry {self.id} of {self.code.co_name}, {self.hits} hits\n  guards:\n{guards}\n  graph:\n{graph}\n"
            f"  residual code:\n{_indented(self.source)}"
        )


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
        CacheEntry(entry.id, tuple(entry.guards), entry.code, entry.graph_module, entry.hits, entry.source, entry.guard_seconds)
        for code in codes_of(fn)
        for entry in _C.cache_entries(code)
    ]


def uncaptured() -> list[Uncaptured]:
    """The frames since the last reset that ran uncaptured, with the reasons."""
    return [record_of(record) for record in _C.uncaptured() if record["kind"] == "uncaptured"]


def graph_breaks() -> list[Uncaptured]:
    """The places since the last reset where frames were split into several graphs, with the reasons."""
    return [record_of(record) for record in _C.uncaptured() if record["kind"] == "graph-break"]


def write_timeline(path: str | os.PathLike[str]) -> None:
    """Writes the captures since the last reset, with their phases, as a Chrome trace: a JSON file that Perfetto (ui.perfetto.dev) shows."""
    timeline.write(path, captures())


def mirror_differences() -> list[str]:
    """The findings of mirror mode (`config.mirror`) since the last call: for each check of guards that differed from the
    plain slow way of making it, a sentence."""
    return _C.take_mirror_differences()


def _follow_mirror() -> None:
    _C.set_mirror(config.mirror, "MINIDYNAMO_MIRROR" in os.environ)


config.when_changed("mirror", _follow_mirror)


def codes_of(fn: Any, *, resumed: bool = False) -> list[types.CodeType]:
    """The code objects whose entries belong to `fn`.

    Args:
        fn: function, method, module, code object, or a wrapper of one.
        resumed: with the functions in which frames of these codes go on after a graph break.

    Raises TypeError where there is none, as for a builtin function.
    """
    codes = _own_codes(fn)
    continuations: Callable[[types.CodeType], list[types.CodeType]] | None = getattr(_C, "resume_codes", None)
    if resumed and continuations is not None:
        for code in codes:  # grows meanwhile: what goes on may be split again
            codes += [found for found in continuations(code) if found not in codes]
    return codes


def _own_codes(fn: Any) -> list[types.CodeType]:
    if isinstance(fn, types.CodeType):
        return [fn]
    while isinstance(fn, _C.OptimizedFunction):
        fn = fn.__wrapped__
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
