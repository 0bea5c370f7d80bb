"""`explain(fn)(*args)`: one run of `fn`, and a report of what it was captured into."""

import collections
import dataclasses
from collections.abc import Callable
from typing import Any

import torch

from minidynamo import _api, debug
from minidynamo._capture import CaptureConfig
from minidynamo.debug import Uncaptured
from minidynamo.exceptions import InvalidOptimizeTarget


@dataclasses.dataclass(frozen=True)
class Explanation:
    """What one call was captured into. `str()` gives the readable report.

    Attributes:
        result: what the call returned.
        graphs: the captured graphs, in the order they were made.
        operators: for each graph the names of its operations, in execution order.
        breaks: where capture stopped, with reason and place.
        guards: for each cache entry of the function its guards, as Python expressions.
        seconds: wall time per phase.
    """

    result: Any
    graphs: tuple[torch.fx.GraphModule, ...]
    operators: tuple[tuple[str, ...], ...]
    breaks: tuple[Uncaptured, ...]
    guards: tuple[tuple[str, ...], ...]
    seconds: dict[str, float]

    @property
    def graph_count(self) -> int:
        return len(self.graphs)

    @property
    def graph_break_count(self) -> int:
        return len(self.breaks)

    @property
    def op_count(self) -> int:
        return sum(len(names) for names in self.operators)

    def __str__(self) -> str:
        counts = (
            (self.graph_count, "graph"),
            (self.op_count, "operation"),
            (self.graph_break_count, "break"),
            (sum(map(len, self.guards)), "guard"),
        )
        lines = [", ".join(_counted(count, noun) for count, noun in counts)]
        for index, names in enumerate(self.operators):
            lines.append(f"graph {index}: {_counted(len(names), 'operation')}")
            for name, count in collections.Counter(names).most_common():
                lines.append(f"  {count:4d} x {name}")
        if self.breaks:
            lines.append("breaks:")
            lines += [f"  {broken}" for broken in self.breaks]
        for index, guards in enumerate(self.guards):
            lines.append(f"guards of entry {index}:")
            lines += [f"  {guard}" for guard in guards]
        lines.append("seconds: " + ", ".join(f"{name} {value:.6f}" for name, value in self.seconds.items()))
        return "\n".join(lines)


def explain(fn: Callable[..., Any]) -> Callable[..., Explanation]:
    """Says what a call of `fn` is captured into: graphs, operations, breaks with reason and place, guards.

    The returned function calls `fn` once, really, with its graphs run as they are (no compiler). It resets minidynamo
    before and after, since a cached entry would hide the capture.

    Args:
        fn: function, method or module; a wrapper of one is taken off.

    Example:
        >>> report = minidynamo.explain(lambda x: x.sin() + 1)(torch.ones(3))
        >>> report.graph_count, report.op_count
        (1, 2)
    """
    if not callable(fn):
        raise InvalidOptimizeTarget(f"explain needs a function, method or module, got {type(fn).__name__}")

    def call(*args: Any, **kwargs: Any) -> Explanation:
        graphs: list[torch.fx.GraphModule] = []

        def collect(graph_module: torch.fx.GraphModule, example_inputs: list[torch.Tensor]) -> Callable[..., Any]:
            graphs.append(graph_module)
            return graph_module.forward

        _api.reset()
        try:
            captured = _api.wrap(fn, CaptureConfig(collect))
            result = captured(*args, **kwargs)
            guards = tuple(entry.guards for entry in debug.cache_entries(captured))
            breaks = tuple(debug.uncaptured())
            seconds = _api.stats()["phases"]
        finally:
            _api.reset()
        return Explanation(
            result, tuple(graphs), tuple(tuple(_operators(graph)) for graph in graphs), breaks, guards, seconds
        )

    return call


def _operators(graph_module: torch.fx.GraphModule) -> list[str]:
    return [
        node.target if isinstance(node.target, str) else _qualified(node.target)
        for node in graph_module.graph.nodes
        if node.op in ("call_function", "call_method", "call_module")
    ]


def _qualified(target: Any) -> str:
    name = getattr(target, "__qualname__", None) or getattr(target, "__name__", None) or str(target)
    module = getattr(target, "__module__", None)
    return f"{module}.{name}" if module and module != "builtins" else str(name)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
