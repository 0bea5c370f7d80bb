"""`explain(fn)(*args)`: one run of `fn`, and a report of what it was captured into."""

import collections
import dataclasses
import html
from collections.abc import Callable
from typing import Any

import torch

from minidynamo import _C, debug
from minidynamo._api import optimize
from minidynamo._capture.capture_config import CaptureConfig
from minidynamo._capture.guard_groups import grouped
from minidynamo._records.breaks import Uncaptured, counted, record_of
from minidynamo.exceptions import InvalidOptimizeTarget


@dataclasses.dataclass(frozen=True, repr=False)
class Explanation:
    """The result of capturing one call. `str()` returns the readable report, `to_dict()` the same as data; a notebook shows it as HTML.

    Attributes:
        result: the call's result.
        graphs: the captured graphs, in the order they were made.
        operators: for each graph the names of its operations, in execution order.
        regions: for each graph which of its parts are equal, so that Inductor compiles them once, or why none is (docs/regions.md).
        breaks: where capture stopped, with reason and place: graph breaks and frames that ran uncaptured.
        guards: for each cache entry of the function its guards, as Python expressions.
        entries: for each cache entry the name of its function: the one explained, or one in which it goes on after a break.
        seconds: wall time per phase.
    """

    result: Any
    graphs: tuple[torch.fx.GraphModule, ...]
    operators: tuple[tuple[str, ...], ...]
    regions: tuple[str, ...]
    breaks: tuple[Uncaptured, ...]
    guards: tuple[tuple[str, ...], ...]
    entries: tuple[str, ...]
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

    def to_dict(self) -> dict[str, Any]:
        """Everything but the result and the graphs themselves, as plain values: fit for JSON.

        `breaks` holds what repeats at one place once, with its `count`.
        """
        return {
            "graph_count": self.graph_count,
            "op_count": self.op_count,
            "graph_break_count": self.graph_break_count,
            "graphs": [{"operators": list(names), "regions": text} for names, text in zip(self.operators, self.regions)],
            "breaks": [record.to_dict() | {"count": count} for record, count in counted(self.breaks)],
            "entries": [{"function": name, "guards": list(guards)} for name, guards in zip(self.entries, self.guards)],
            "seconds": dict(self.seconds),
        }

    def text(self, all_guards: bool = False) -> str:
        """The readable report.

        Args:
            all_guards: also those on parameters, types, names, classes and torch's modes, which are counted otherwise.
        """
        lines = [self._counts()]
        for index, names in enumerate(self.operators):
            lines.append(f"graph {index}: {_counted(len(names), 'operation')}")
            for name, count in collections.Counter(names).most_common():
                lines.append(f"  {count:4d} x {name}")
            if self.regions[index]:
                lines.append(f"  regions for Inductor: {self.regions[index]}")
        for index, (record, count) in enumerate(counted(self.breaks)):
            lines.append(f"break {index}{_headline(record, count)}")
            lines.append(record.describe())
        for index, (name, guards) in enumerate(zip(self.entries, self.guards)):
            lines.append(f"guards of entry {index}, {name}: {len(guards)}")
            for group in grouped(guards):
                if group.is_folded and not all_guards:
                    lines.append(f"  {_counted(len(group.guards), 'guard')} on {group.subject}: .text(all_guards=True) prints them")
                else:
                    lines += [f"  {guard}" for guard in group.guards]
        lines.append("seconds: " + ", ".join(f"{name} {value:.6f}" for name, value in self.seconds.items()))
        return "\n".join(lines)

    def _counts(self) -> str:
        counts = (
            (self.graph_count, "graph"),
            (self.op_count, "operation"),
            (self.graph_break_count, "break"),
            (sum(map(len, self.guards)), "guard"),
        )
        return ", ".join(_counted(count, noun) for count, noun in counts)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<Explanation: {self._counts()}>"

    def _repr_html_(self) -> str:
        """For notebooks: the counts, and what can be opened."""
        parts = [f"<p><b>minidynamo.explain</b>: {self._counts()}</p>"]
        for index, (record, count) in enumerate(counted(self.breaks)):
            parts.append(_foldable(f"break {index}{_headline(record, count)}", record.describe()))
        for index, names in enumerate(self.operators):
            operators = "\n".join(f"{count:4d} x {name}" for name, count in collections.Counter(names).most_common())
            parts.append(_foldable(f"graph {index}: {_counted(len(names), 'operation')}", operators))
        for index, (name, guards) in enumerate(zip(self.entries, self.guards)):
            groups = grouped(guards)
            shown = "\n".join(guard for group in groups if not group.is_folded for guard in group.guards)
            parts.append(_foldable(f"guards of entry {index}, {name}: {len(guards)}", shown))
            parts += [_foldable(f"{len(group.guards)} on {group.subject}", "\n".join(group.guards)) for group in groups if group.is_folded]
        return "\n".join(parts)


def _headline(record: Uncaptured, count: int) -> str:
    times = f" ({count} times)" if count > 1 else ""
    what = "graph break" if record.kind == "graph-break" else f"{record.frame} runs uncaptured"
    return f"{times}: {what}: {record.detail} [{record.reason}]"


def _foldable(headline: str, text: str) -> str:
    return f"<details><summary>{html.escape(headline)}</summary><pre>{html.escape(text)}</pre></details>"


def explain(fn: Callable[..., Any]) -> Callable[..., Explanation]:
    """Says what a call of `fn` is captured into: graphs, operations, breaks with reason and place, guards.

    The returned function calls `fn` once, really, with its graphs run as they are (no compiler). It captures anew,
    whatever is cached, and leaves the cached entries and counters as they were.

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
            graph_module.meta.pop("pieces", None)
            graphs.append(graph_module)
            return graph_module.forward

        settings = CaptureConfig(collect, looks_for_regions=True)
        aside = _C.StateAside(settings)
        try:
            captured = optimize.wrap(fn, settings)
            result = captured(*args, **kwargs)
            entries = [
                (code.co_qualname, tuple(entry.guards))
                for code in debug.codes_of(captured, resumed=True)
                for entry in _C.cache_entries(code)
                if entry.belongs_to(settings)
            ]
            breaks = tuple(record_of(record) for record in _C.uncaptured())
            seconds = optimize.stats()["phases"]
        finally:
            aside.end()
        return Explanation(
            result=result,
            graphs=tuple(graphs),
            operators=tuple(tuple(_operators(graph)) for graph in graphs),
            regions=tuple(str(graph.meta.get("regions", "")) for graph in graphs),
            breaks=breaks,
            guards=tuple(guards for _, guards in entries),
            entries=tuple(name for name, _ in entries),
            seconds=seconds,
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
