"""The report as one HTML page, which needs no other file: style, script and drawings are in it."""

import dataclasses
import functools
import os
import pathlib
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import jinja2

from minidynamo._records.captures import Capture
from minidynamo._report.facts import EntryFacts, FunctionFacts, guards_by_line
from minidynamo._report.text import totals

if TYPE_CHECKING:
    from minidynamo._report import Report

_TEMPLATE = pathlib.Path(__file__).with_name("page.html.jinja")
_ROW = 22  # pixels between two rows of a drawing
_MOST_STEPS = 400  # steps in a drawing


@functools.cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    return environment.from_string(_TEMPLATE.read_text(encoding="utf-8"))


def page(report: "Report") -> str:
    """The page. All texts of the program are escaped."""
    return _template().render(
        report=report,
        totals=totals(report),
        counted=lambda number, noun: f"1 {noun}" if number == 1 else f"{number} {noun}s",
        functions=[(facts, source_rows(facts), [(entry, drawing(entry)) for entry in facts.entries]) for facts in report.functions],
        timeline=timeline([capture for facts in report.functions for capture in facts.captures]),
        short=os.path.basename,
    )


@dataclasses.dataclass(frozen=True)
class SourceRow:
    """A line of the function's source, and what captures made of it."""

    line: int
    text: str
    breaks: tuple[str, ...]
    guards: tuple[str, ...]
    operators: tuple[tuple[str, list[str]], ...]  # operators that graphs have for the line, and the ids of these entries

    @property
    def kind(self) -> str:
        return "break" if self.breaks else "graph" if self.operators else ""


def source_rows(facts: FunctionFacts) -> list[SourceRow]:
    """The function's source beside its graphs, breaks and guards."""
    breaks: dict[int, list[str]] = defaultdict(list)
    last = facts.line + len(facts.source)
    for record, count in facts.breaks:
        places = [line for file, line in _places(record) if file == facts.filename and facts.line <= line < last]
        if places:
            breaks[places[0]].append(f"{record.detail} [{record.reason}]" + (f", {count} times" if count > 1 else ""))
    guards = guards_by_line(facts)
    operators: dict[int, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))  # by line and text: ids of entries
    for entry in facts.entries:
        by_line: dict[int, list[str]] = defaultdict(list)
        for step in entry.steps:
            by_line[step.line] += step.operators
        for line, names in by_line.items():
            operators[line][", ".join(names)].append(entry.id)
    return [
        SourceRow(number, text, tuple(breaks[number]), tuple(guards.get(number, ())), tuple(operators[number].items()))
        for number, text in enumerate(facts.source, facts.line)
    ]


def _places(record: Any) -> list[tuple[str, int]]:
    """The frames that led to a break, outermost first, and the place itself."""
    from minidynamo._capture.failed_graph import entries

    return [*((file, line) for file, line, _ in entries(record.user_stack)), (record.filename, record.line)]


@dataclasses.dataclass(frozen=True)
class Bar:
    """A stretch of time in the timeline. Places are in percent of its width."""

    left: float
    width: float
    phase: str
    title: str


def timeline(captures: list[Capture]) -> list[tuple[Capture, list[Bar]]]:
    """For each capture its phases. Time in which nothing is captured is left out: captures follow one another."""
    whole = sum(capture.seconds for capture in captures) or 1.0
    rows = []
    before = 0.0
    for capture in sorted(captures, key=lambda capture: capture.began):
        bars = [
            Bar(100 * (before + begin) / whole, 100 * (end - begin) / whole, phase, f"{phase} {1000 * (end - begin):.1f} ms")
            for phase, begin, end in capture.spans
        ]
        rows.append((capture, bars))
        before += capture.seconds
    return rows


@dataclasses.dataclass(frozen=True)
class Drawing:
    """A graph as rows from top to bottom, one for each step, and curves from results to where they are used."""

    height: int
    rows: tuple[tuple[int, str, str], ...]  # y, line, operators
    curves: tuple[str, ...]  # paths of SVG
    left_out: int


def drawing(entry: EntryFacts) -> Drawing:
    """The graph of an entry."""
    steps = entry.steps[:_MOST_STEPS]
    rows = tuple((_ROW * (i + 1), f"line {step.line}" if step.line else "", ", ".join(step.operators)) for i, step in enumerate(steps))
    curves = []
    for i, step in enumerate(steps):
        for used in step.uses:
            begin, end = _ROW * (used + 1), _ROW * (i + 1)
            reach = 150 - min(130, 12 * (i - used))
            curves.append(f"M150 {begin} C{reach} {begin} {reach} {end} 150 {end}")
    return Drawing(_ROW * (len(steps) + 1), rows, tuple(curves), len(entry.steps) - len(steps))
