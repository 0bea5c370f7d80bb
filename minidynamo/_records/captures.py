"""The records of captures (csrc/hook/capture/capture_record.h), and what is said about them in words."""

import dataclasses
import types
from typing import TYPE_CHECKING, Any, Literal

from minidynamo import _C
from minidynamo._records import log_records, progress, structured_trace

if TYPE_CHECKING:
    from minidynamo._C import CaptureRecord


@dataclasses.dataclass(frozen=True)
class Capture:
    """One attempt to capture a function, or what it goes on with after a graph break.

    Attributes:
        id: "3/1" for the second capture of the fourth function that was captured in the process. Log records, warnings, regions in
            profiles, traces and cache entries bear it.
        function: qualified name; "f from line 12" for what f goes on with after a graph break.
        code: the code object of the function; None if it is gone.
        filename, line: where the function begins.
        backend: its name.
        failed_guards: for each entry that the function had already, the one tried last first: the guard that did not hold.
        failed_guard_kinds: what kinds of guards these are, such as "Tensor" or "Constant".
        began: seconds since the epoch. `seconds`: wall time of the whole.
        phases: wall time in seconds by phase: `evaluate` the bytecode, `propagate` shapes and dtypes through operators, build `guards`,
            `graph_export`, `backend`, the `imports` of modules by the backend at its first use, `codegen` of residual bytecode.
        spans: phase, begin and end of each stretch of time, in seconds since `began`. `propagate` lies within `evaluate`,
            `imports` within `backend`.
        outcome: "entry": a cache entry was made; "uncaptured": the frame ran uncaptured (`debug.uncaptured()` says why); "error": an
            exception was raised.
        error: type of the exception, and its message if it is one of this package's.
        operators: calls of operators in the graph. `guards`: how many the entry has.
        guard_seconds: time that one check of the entry's guards took.
        peak_memory_grew: bytes by which the largest resident size of the process grew meanwhile.
    """

    id: str
    function: str
    code: types.CodeType | None
    filename: str
    line: int
    backend: str
    failed_guards: tuple[str, ...]
    failed_guard_kinds: tuple[str, ...]
    began: float
    seconds: float
    phases: dict[str, float]
    spans: tuple[tuple[str, float, float], ...]
    outcome: Literal["entry", "error", "uncaptured"]
    error: str
    operators: int
    guards: int
    guard_seconds: float
    peak_memory_grew: int

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON. Without `code`."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self) if field.name != "code"}

    def __str__(self) -> str:
        match self.outcome:
            case "entry":
                came = f"{_count(self.operators, 'operator')}, {_count(self.guards, 'guard')}"
            case "uncaptured":
                came = "runs uncaptured"
            case "error":
                came = f"fails: {self.error.splitlines()[0] if self.error else 'an error'}"
        again = f"; no entry fits: {self.failed_guards[0]}" if self.failed_guards else ""
        times = ", ".join(f"{name} {1000 * seconds:.1f}" for name, seconds in self.phases.items() if seconds >= 5e-5)
        return f"{self.function} ({self.filename}:{self.line}) for {self.backend}: {came}, in {1000 * self.seconds:.1f} ms ({times}){again}"


def _count(number: int, noun: str) -> str:
    return f"1 {noun}" if number == 1 else f"{number} {noun}s"


def capture_of(record: "CaptureRecord") -> Capture:
    """A record of the native pipeline as one for users."""
    values: dict[str, Any] = {name: value for name, value in record.items() if name not in ("function_number", "number", "why", "spans")}
    kinds, messages = zip(*record["why"]) if record["why"] else ((), ())
    return Capture(**values, failed_guards=messages, failed_guard_kinds=kinds, spans=tuple(record["spans"]))


def captures() -> list[Capture]:
    """The last thousand captures since the last reset, in the order in which they ended.

    Example:
        >>> f = minidynamo.optimize("eager")(lambda x: x + 1)
        >>> _ = f(torch.ones(2))
        >>> minidynamo.debug.captures()[-1].operators
        1
    """
    return [capture_of(record) for record in _C.captures()]


def follows() -> bool:
    """True if the output of `note_start` and `note_end` is read."""
    return log_records.enabled("captures") or structured_trace.is_on() or progress.is_on()


def note_start(record: "CaptureRecord") -> None:
    """Called by the native pipeline where a capture begins, if `follows()`."""
    capture = capture_of(record)
    progress.begin(capture)
    if structured_trace.is_on():
        structured_trace.write_start(capture)


def note_end(record: "CaptureRecord") -> None:
    """Called by the native pipeline where a capture ends, if `follows()`."""
    capture = capture_of(record)
    progress.end(capture)
    log_records.emit("captures", str(capture))
    if structured_trace.is_on():
        structured_trace.write_end(capture)
