"""The facts about each function that was to be captured."""

import collections
import dataclasses
import inspect
import types
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import torch

from minidynamo import _C
from minidynamo._capture import graph_source
from minidynamo._capture.failed_graph import entries as stack_entries
from minidynamo._capture.guard_groups import GuardGroup, cause_of, grouped
from minidynamo._records.breaks import Uncaptured, counted, record_of
from minidynamo._records.captures import Capture, captures

if TYPE_CHECKING:
    from minidynamo._C import Calls


@dataclasses.dataclass(frozen=True)
class Step:
    """The operators that a graph runs for one line of the function, in the order of the graph.

    Attributes:
        line: the function's line; 0 if unknown.
        operators: their names.
        uses: positions, in the graph's tuple of steps, of those whose results are used.
    """

    line: int
    operators: tuple[str, ...]
    uses: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class EntryFacts:
    """A cache entry.

    Attributes:
        id: of the capture that made it. `function`: "f", or "f from line 12" for what f goes on with after a graph break.
        hits: calls that it served, but for the one for which it was made.
        guards: its guards by kind.
        guard_seconds: time of one check of them.
        steps: what its graph computes, line by line; empty if nothing was computed with tensors.
        graph, source: graph and residual code as text.
    """

    id: str
    function: str
    hits: int
    guards: tuple[GuardGroup, ...]
    guard_seconds: float
    steps: tuple[Step, ...]
    graph: str
    source: str

    @property
    def guard_count(self) -> int:
        return sum(len(group.guards) for group in self.guards)

    @property
    def operator_count(self) -> int:
        return sum(len(step.operators) for step in self.steps)


@dataclasses.dataclass(frozen=True)
class FunctionFacts:
    """A function that was to be captured, with what it goes on with after graph breaks.

    Attributes:
        id: its number in the ids of captures, such as "3".
        name, filename, line: qualified name, and where it begins.
        source: its lines; empty where the source cannot be had.
        calls: how often it was called under capture. `hits`: calls that an entry served. `uncaptured_calls`: calls that ran uncaptured.
        captures: its captures, in order.
        entries: the entries that it has, also those of resume functions.
        breaks: where graphs ended and frames ran uncaptured, with how often.
    """

    id: str
    name: str
    filename: str
    line: int
    source: tuple[str, ...]
    calls: int
    hits: int
    uncaptured_calls: int
    captures: tuple[Capture, ...]
    entries: tuple[EntryFacts, ...]
    breaks: tuple[tuple[Uncaptured, int], ...]

    @property
    def seconds(self) -> float:
        """Wall time of its captures."""
        return sum(capture.seconds for capture in self.captures)

    @property
    def phases(self) -> dict[str, float]:
        """Wall time of its captures by phase."""
        found: dict[str, float] = {}
        for capture in self.captures:
            for phase, seconds in capture.phases.items():
                found[phase] = found.get(phase, 0.0) + seconds
        return found

    @property
    def recompiles(self) -> tuple[Capture, ...]:
        """Captures for which there was an entry already, whose guards failed."""
        return tuple(capture for capture in self.captures if capture.failed_guards)

    @property
    def guard_seconds_per_call(self) -> float:
        """Time for the guards of all entries that one call runs through, a mean weighted by hits. Without those that fail first."""
        hits = sum(entry.hits for entry in self.entries)
        calls = max(1, self.hits)
        return sum(entry.guard_seconds * entry.hits for entry in self.entries) / calls if hits else 0.0

    @property
    def peak_memory_grew(self) -> int:
        """Bytes by which the largest resident size of the process grew during its captures."""
        return sum(capture.peak_memory_grew for capture in self.captures)

    def to_dict(self) -> dict[str, Any]:
        """As plain values, fit for JSON."""
        return {
            "id": self.id,
            "name": self.name,
            "filename": self.filename,
            "line": self.line,
            "calls": self.calls,
            "hits": self.hits,
            "uncaptured_calls": self.uncaptured_calls,
            "captures": [capture.to_dict() for capture in self.captures],
            "recompiles": len(self.recompiles),
            "breaks": [record.to_dict() | {"count": count} for record, count in self.breaks],
            "entries": [
                {
                    "id": entry.id,
                    "function": entry.function,
                    "hits": entry.hits,
                    "operators": entry.operator_count,
                    "guards": [guard for group in entry.guards for guard in group.guards],
                    "guard_seconds": entry.guard_seconds,
                }
                for entry in self.entries
            ],
            "seconds": self.phases,
            "guard_seconds_per_call": self.guard_seconds_per_call,
            "peak_memory_grew": self.peak_memory_grew,
        }


def functions() -> list[FunctionFacts]:
    """All functions that were captured, or tried to be, since the last reset; the one whose captures took longest first."""
    made = captures()
    records = [record_of(record) for record in _C.uncaptured()]
    by_function: dict[str, list[Capture]] = collections.defaultdict(list)
    for capture in made:
        by_function[capture.id.partition("/")[0]].append(capture)
    found = [_function(number, own, [r for r in records if r.capture.partition("/")[0] == number]) for number, own in by_function.items()]
    return sorted(found, key=lambda facts: -facts.seconds)


def _function(number: str, own: list[Capture], records: Iterable[Uncaptured]) -> FunctionFacts:
    first = own[0]
    code = next((capture.code for capture in own if capture.code is not None), None)
    source = _source(code)
    entries: list[EntryFacts] = []
    calls: Calls = {"captured": 0, "uncaptured": 0, "of_former_entries": 0}
    hits = 0
    if code is not None:
        calls = _C.calls(code)
        hits = calls["of_former_entries"] + sum(entry.hits for entry in _C.cache_entries(code))
        names = {capture.id: capture.function for capture in own}
        for each in (code, *_C.resume_codes(code)):
            for entry in _C.cache_entries(each):
                entries.append(_entry(entry, names.get(entry.id, first.function), code))
    return FunctionFacts(
        id=number,
        name=code.co_qualname if code is not None else first.function,
        filename=first.filename,
        line=first.line,
        source=source,
        calls=hits + calls["captured"] + calls["uncaptured"],
        hits=hits,
        uncaptured_calls=calls["uncaptured"],
        captures=tuple(own),
        entries=tuple(sorted(entries, key=lambda entry: tuple(map(int, entry.id.split("/"))))),
        breaks=tuple(counted(records)),
    )


def _source(code: types.CodeType | None) -> tuple[str, ...]:
    if code is None:
        return ()
    try:
        return tuple(line.rstrip("\n") for line in inspect.getsourcelines(code)[0])
    except (OSError, TypeError):
        return ()


def _entry(entry: _C.CacheEntry, function: str, code: types.CodeType) -> EntryFacts:
    graph = entry.graph_module
    return EntryFacts(
        id=entry.id,
        function=function,
        hits=entry.hits,
        guards=tuple(grouped(entry.guards)),
        guard_seconds=entry.guard_seconds,
        steps=() if graph is None else tuple(_steps(graph, code)),
        graph="" if graph is None else graph_source.graph_text(graph),
        source=entry.source,
    )


def line_in(stack: str, code: types.CodeType) -> int:
    """The line of the outermost frame of a stack in text that lies in the function; 0 if there is none."""
    return next((line for file, line, name in stack_entries(stack) if file == code.co_filename and name == code.co_name), 0)


def _steps(graph: torch.fx.GraphModule, code: types.CodeType) -> list[Step]:
    """Successive nodes of one line are one step."""
    lines: list[int] = []
    operators: list[list[str]] = []
    uses: list[set[int]] = []
    step_of: dict[torch.fx.Node, int] = {}
    for node in graph.graph.nodes:
        if not node.op.startswith("call_"):
            continue
        line = line_in(node.meta.get("stack_trace") or "", code)
        if not lines or lines[-1] != line:
            lines.append(line)
            operators.append([])
            uses.append(set())
        position = len(lines) - 1
        operators[position].append(node.target if isinstance(node.target, str) else getattr(node.target, "__name__", str(node.target)))
        uses[position] |= {step_of[used] for used in node.all_input_nodes if step_of.get(used, position) != position}
        step_of[node] = position
    return [Step(line, tuple(names), tuple(sorted(used))) for line, names, used in zip(lines, operators, uses, strict=True)]


def guards_by_line(facts: FunctionFacts) -> dict[int, list[str]]:
    """The guards that lines of the function made necessary, each once."""
    file = facts.filename.rpartition("/")[2]
    found: dict[int, list[str]] = collections.defaultdict(list)
    for entry in facts.entries:
        for group in entry.guards:
            for guard in group.guards:
                cause = cause_of(guard)
                if cause is not None and cause[0] == file and guard not in found[cause[1]]:
                    found[cause[1]].append(guard)
    return found
