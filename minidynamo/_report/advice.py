"""The advice of a report: each finding with its cost, the step to take, and where to read more."""

import collections
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from minidynamo._records.breaks import ADVICE_BY_GUARD, in_terms_of_program, reason_for
from minidynamo._records.captures import Capture
from minidynamo._report.facts import FunctionFacts

Key = TypeVar("Key")

_MANY_CAPTURES = 3  # captures of one function for one cause: more are to be expected
_SLOW_GUARDS = 100e-6  # seconds in each call
_SLOW_BACKEND = 5.0  # seconds in all


@dataclasses.dataclass(frozen=True)
class Advice:
    """One finding.

    Attributes:
        kind: "error", "recompile-limit", "recompiles", "graph-break", "uncaptured", "backend-time", "guards", or "uncompiled".
        function: id of the function; "" for all of them.
        finding: what was found, with figures.
        remedy: what to do.
        see: a command that says more; "" if there is none.
    """

    kind: str
    function: str
    finding: str
    remedy: str
    see: str


def advice_for(functions: Sequence[FunctionFacts]) -> list[Advice]:
    """The advice in order: failures first, then functions that are slower than they could be, by the likely cost, then mere information."""
    rated: list[tuple[int, float, Advice]] = []
    for facts in functions:
        rated += _failures(facts)
        rated += _recompiles(facts)
        rated += _breaks(facts)
        rated += _guards(facts)
    rated += _of_all(functions)
    return [advice for _, _, advice in sorted(rated, key=lambda item: item[:2])]


Rated = Iterator[tuple[int, float, Advice]]  # rank, a figure of which the least comes first, the advice


def _called(facts: FunctionFacts) -> str:
    return f"{facts.name} ({facts.filename}:{facts.line})"


def _failures(facts: FunctionFacts) -> Rated:
    failed = [capture for capture in facts.captures if capture.outcome == "error"]
    for error, captures in _by(failed, lambda capture: capture.error).items():
        is_of_backend = error.startswith("BackendCompilerFailed")
        remedy = (
            "minidynamo.repro(f)(*args) writes the graph as a file for a bug report; backend='eager' shows whether the capture alone works"
            if is_of_backend
            else "read the error: it names the line and what to do"
        )
        said = " ".join(error.split("\n", 2)[:2]) or "an exception"
        see = "" if is_of_backend else "MINIDYNAMO_LOGS=breaks"
        finding = f"{_called(facts)} fails at {_times(len(captures))}: {said}"
        yield 0, -len(captures), Advice("error", facts.id, finding, remedy, see)


def _recompiles(facts: FunctionFacts) -> Rated:
    limited = [(record, count) for record, count in facts.breaks if record.reason == "recompile-limit"]
    causes = _by(facts.recompiles, lambda capture: (capture.failed_guard_kinds[0], _subject(capture.failed_guards[0])))
    for (kind, subject), captures in causes.items():
        if len(captures) < _MANY_CAPTURES and not limited:
            continue
        seconds = sum(capture.seconds for capture in captures)
        last = in_terms_of_program(captures[-1].failed_guards[0])
        finding = f"{_called(facts)} was captured again {_times(len(captures))}, {seconds:.2f} s, since {subject} changes: {last}"
        remedy = ADVICE_BY_GUARD.get(kind, "make the calls alike")
        if limited:
            finding += f". Its recompile limit is reached: {_times(facts.uncaptured_calls)} it ran uncaptured"
        yield 1, -seconds, Advice("recompile-limit" if limited else "recompiles", facts.id, finding, remedy, "MINIDYNAMO_LOGS=recompiles")


def _subject(guard: str) -> str:
    return in_terms_of_program(guard.partition(":")[0])


def _breaks(facts: FunctionFacts) -> Rated:
    for record, count in facts.breaks:
        if record.reason == "recompile-limit":
            continue
        reason = reason_for(record.reason)
        kind = record.kind
        what = f"the graph of {facts.name} ends" if kind == "graph-break" else f"{facts.name} runs uncaptured"
        times = f" ({_times(count)})" if count > 1 else ""
        finding = f"{what} at {record.filename}:{record.line}{times}: {record.detail} [{record.reason}]"
        remedy = reason.hints[0] if reason.hints else reason.explanation
        yield 2, -float(max(facts.calls, 1)) * count, Advice(kind, facts.id, finding, remedy, reason.docs)


def _guards(facts: FunctionFacts) -> Rated:
    spent = facts.guard_seconds_per_call
    if spent < _SLOW_GUARDS:
        return
    guards = sum(entry.guard_count for entry in facts.entries)
    finding = f"the guards of {_called(facts)} take {1e6 * spent:.0f} us in each call: {guards} in {len(facts.entries)} entries"
    remedy = "compile a larger part of the program at once, so that one check serves it; or leave out guards with guard_filter_fn"
    yield 3, -spent, Advice("guards", facts.id, finding, remedy, "minidynamo.debug.cache_entries")


def _of_all(functions: Sequence[FunctionFacts]) -> Rated:
    seconds: dict[str, float] = collections.defaultdict(float)
    backends = collections.Counter(capture.backend for facts in functions for capture in facts.captures if capture.outcome == "entry")
    for facts in functions:
        for capture in facts.captures:
            seconds[capture.backend] += capture.phases["backend"]
    for backend, spent in seconds.items():
        if spent >= _SLOW_BACKEND:
            finding = f"the backend {backend} took {spent:.1f} s for {backends[backend]} graphs"
            remedy = (
                "leave config.artifacts on, so that other processes load what was compiled; config.compile_in_background=True keeps the "
                "program running meanwhile"
            )
            yield 3, -spent, Advice("backend-time", "", finding, remedy, "python -m minidynamo cache")
    if set(backends) == {"eager"}:
        finding = "all graphs run with the backend eager, which compiles nothing"
        yield 4, 0.0, Advice("uncompiled", "", finding, "name a compiler, as in minidynamo.compile(f, backend='inductor')", "")


def _by(captures: Iterable[Capture], key: Callable[[Capture], Key]) -> dict[Key, list[Capture]]:
    found: dict[Key, list[Capture]] = collections.defaultdict(list)
    for capture in captures:
        found[key(capture)].append(capture)
    return found


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"
