"""The report as a screen of text."""

import textwrap
from typing import TYPE_CHECKING

from minidynamo._records.breaks import in_terms_of_program

if TYPE_CHECKING:
    from minidynamo._report import Report
    from minidynamo._report.facts import FunctionFacts

_WIDTH = 118
_MOST_ADVICE = 10
_MOST_FUNCTIONS = 20


def report_text(report: "Report") -> str:
    """Totals, what to do first, a table of functions, and for each of them why it was captured again and where graphs end."""
    lines = [totals(report), ""]
    if report.advice:
        lines.append("what to do first:")
    for number, advice in enumerate(report.advice[:_MOST_ADVICE], 1):
        lines += textwrap.wrap(f"{number}. {advice.finding}", _WIDTH, subsequent_indent="   ")
        lines += textwrap.wrap(f"* {advice.remedy}", _WIDTH, initial_indent="   ", subsequent_indent="     ")
        if advice.see:
            lines.append(f"     See: {advice.see}")
    if len(report.advice) > _MOST_ADVICE:
        lines.append(f"   and {len(report.advice) - _MOST_ADVICE} more: report().advice")
    if report.functions:
        lines += ["", _row("id", "function", "calls", "hits", "captures", "breaks", "seconds", "guards us", "memory MB")]
    for facts in report.functions[:_MOST_FUNCTIONS]:
        lines.append(
            _row(
                f"[{facts.id}]",
                facts.name,
                str(facts.calls),
                str(facts.hits),
                str(len(facts.captures)),
                str(sum(count for _, count in facts.breaks)),
                f"{facts.seconds:.3f}",
                f"{1e6 * facts.guard_seconds_per_call:.1f}",
                f"{facts.peak_memory_grew / 1e6:.0f}",
            )
        )
        lines += [f"      {line}" for line in _details(facts)]
    if len(report.functions) > _MOST_FUNCTIONS:
        lines.append(f"      and {len(report.functions) - _MOST_FUNCTIONS} functions more")
    return "\n".join(lines)


def totals(report: "Report") -> str:
    """One line: how many functions, captures, hits and breaks, and the time by phase."""
    captures = sum(len(facts.captures) for facts in report.functions)
    breaks = sum(count for facts in report.functions for _, count in facts.breaks)
    hits = sum(facts.hits for facts in report.functions)
    spent = sum(facts.seconds for facts in report.functions)
    phases = ", ".join(f"{phase} {seconds:.2f}" for phase, seconds in report.seconds.items() if seconds >= 0.005)
    return (
        f"{len(report.functions)} functions, {captures} captures, {hits} hits, {breaks} graph breaks and uncaptured frames; "
        f"captures took {spent:.2f} s" + (f" ({phases})" if phases else "")
    )


def _row(*cells: str) -> str:
    number, name, *figures = cells
    return f"{number:>5} {name[:40]:40}" + "".join(f"{figure:>10}" for figure in figures)


def _details(facts: "FunctionFacts") -> list[str]:
    lines = []
    for capture in facts.recompiles[:3]:
        lines.append(f"[{capture.id}] again since {in_terms_of_program(capture.failed_guards[0])}"[:_WIDTH])
    if len(facts.recompiles) > 3:
        lines.append(f"and {len(facts.recompiles) - 3} times more")
    for record, count in facts.breaks[:5]:
        times = f" ({count} times)" if count > 1 else ""
        lines.append(f"{record.filename.rpartition('/')[2]}:{record.line}{times} {record.detail} [{record.reason}]"[:_WIDTH])
    return lines
