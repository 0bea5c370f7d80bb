"""`report()`: what captures have cost and brought since the last reset, function by function, and what to do first."""

import dataclasses
import html
import os
import pathlib
from typing import Any

from minidynamo._report.advice import Advice, advice_for
from minidynamo._report.facts import FunctionFacts, functions
from minidynamo._report.text import report_text

__all__ = ["Report", "report"]


@dataclasses.dataclass(frozen=True)
class Report:
    """The cost and the benefit of captures. `str()` returns a screen of text, `write_html` a page; a notebook shows the page.

    Attributes:
        functions: one for each function that was to be captured, the one whose captures took longest first.
        advice: the steps to take, the most useful first.
        seconds: wall time of all captures by phase.
    """

    functions: tuple[FunctionFacts, ...]
    advice: tuple[Advice, ...]
    seconds: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        """As plain values, fit for JSON."""
        return {
            "functions": [facts.to_dict() for facts in self.functions],
            "advice": [dataclasses.asdict(item) for item in self.advice],
            "seconds": dict(self.seconds),
        }

    def html(self) -> str:
        """One page, which needs no other file: source beside graphs, breaks and guards, a timeline of the captures."""
        from minidynamo._report.page import page  # which imports jinja2: programs that ask for no page need not wait for it

        return page(self)

    def write_html(self, path: str | os.PathLike[str]) -> None:
        """Writes `html()` to a file."""
        pathlib.Path(path).write_text(self.html(), encoding="utf-8")

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{html.escape(self.html())}" style="width: 100%; height: 40em; border: 0"></iframe>'

    def __str__(self) -> str:
        return report_text(self)


def report() -> Report:
    """A report of the captures since the last reset: by function calls, hits, captures and their causes, graph breaks and their
    reasons, seconds by phase, the time that guards take, memory; and what to do first.

    Example:
        >>> f = minidynamo.compile(lambda x: x.sin() + 1, backend="eager")
        >>> _ = f(torch.ones(3)), f(torch.ones(3))
        >>> (facts,) = [facts for facts in minidynamo.report().functions if facts.name == "<lambda>"]
        >>> facts.calls, facts.hits, len(facts.captures)
        (2, 1, 1)
    """
    found = functions()
    seconds: dict[str, float] = {}
    for facts in found:
        for capture in facts.captures:
            for phase, spent in capture.phases.items():
                seconds[phase] = seconds.get(phase, 0.0) + spent
    return Report(tuple(found), tuple(advice_for(found)), seconds)
