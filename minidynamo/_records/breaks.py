"""Why and where captures stopped: the reasons as data, the records, and everything that is said about them in words.

Errors, the `breaks` log, `explain` and docs/graph_breaks.md are all made of these texts. Nothing here runs while a call
is served from the cache.
"""

import dataclasses
import functools
import linecache
import re
import types
import unicodedata
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

from minidynamo import _C
from minidynamo._records import log_records
from minidynamo.exceptions import RecompileError, Unsupported

if TYPE_CHECKING:
    from minidynamo._C import BreakRecord


@dataclasses.dataclass(frozen=True)
class BreakReason:
    """One reason for which a capture stops.

    Attributes:
        code: short stable name, in lower case with hyphens.
        explanation: what it means, in general.
        hints: what a user can do about it; each is one piece of advice.
    """

    code: str
    explanation: str
    hints: tuple[str, ...]

    @property
    def docs(self) -> str:
        """The command that prints its page, with an example (`_break_pages`)."""
        return f"python -m minidynamo breaks {self.code}"


@functools.cache
def break_reasons() -> tuple[BreakReason, ...]:
    """All reasons for which a capture can stop, sorted by code.

    Example:
        >>> [reason.explanation for reason in break_reasons() if reason.code == "print"]
        ['Something is printed. A trace must not print, and a graph cannot.']
    """
    return tuple(BreakReason(row["code"], row["explanation"], tuple(row["hints"])) for row in _C.break_reasons())


def reason_for(code: str) -> BreakReason:
    """The reason with this code; for one that is not in the table, a reason without texts."""
    return _by_code().get(code) or BreakReason(code, "", ())


@functools.cache
def _by_code() -> dict[str, BreakReason]:
    return {reason.code: reason for reason in break_reasons()}


@dataclasses.dataclass(frozen=True)
class Uncaptured:
    """A place where a capture stopped, and why.

    Attributes:
        kind: "uncaptured": the frame ran uncaptured. "graph-break": the frame was split at this place, and the rest of it
            captured in its turn.
        frame: qualified name of the function that was to be captured.
        code: the code object at the place, None if it is gone; another one than the frame's if the place lies in a function that
            was traced into.
        function: the qualified name of that code object.
        reason: short stable name (`break_reasons`); `detail` says it in words, for this case.
        filename: the file of the place in the user's program that could not be captured.
        line: the line there.
        column: where the expression begins, in bytes of the line, as in `ast`; -1 if that is not known.
        end_column: where it ends; -1 if that is not known, or on a later line.
        user_stack: the calls that led there, as in a traceback, innermost last.
        capture: the id of the capture that stopped (`debug.captures()`), such as "3/1"; "3" for a call that was not tried to be captured.
    """

    kind: Literal["graph-break", "uncaptured"]
    frame: str
    code: types.CodeType | None
    reason: str
    detail: str
    filename: str
    line: int
    column: int
    end_column: int
    function: str
    user_stack: str
    capture: str

    @property
    def explanation(self) -> str:
        """The general meaning of the reason."""
        return reason_for(self.reason).explanation

    @property
    def hints(self) -> tuple[str, ...]:
        """Ways for a user to avoid the break."""
        return reason_for(self.reason).hints

    @property
    def source(self) -> str:
        """The line of the program, with a second line of carets below the expression; empty if the file is not there."""
        return source_with_caret(self.filename, self.line, self.column, self.end_column)

    def describe(self) -> str:
        """Place, source line, explanation, hints and stack, as an error under `fullgraph=True` has them."""
        return _in_words(self)

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON. Without `code`."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self) if field.name != "code"}
        return values | {"source": self.source, "explanation": self.explanation, "hints": list(self.hints)}

    def __str__(self) -> str:
        return f"{self.filename}:{self.line} in {self.function}: {self.reason}: {self.detail}"


def record_of(values: "BreakRecord") -> Uncaptured:
    return Uncaptured(**values)


def unsupported(values: "BreakRecord") -> Unsupported:
    """The error for what `fullgraph=True` forbids. Called by the native pipeline, which raises it."""
    record = record_of(values)
    return Unsupported(
        f"{record.detail} [{record.reason}]\n{_in_words(record)}",
        reason=record.reason,
        detail=record.detail,
        explanation=record.explanation,
        hints=record.hints,
        filename=record.filename,
        line=record.line,
        column=record.column,
        end_column=record.end_column,
        function=record.function,
        user_stack=record.user_stack,
    )


def log_text(values: "BreakRecord") -> str:
    """The text of the log's topic `breaks`. Called by the native pipeline."""
    record = record_of(values)
    what = "is split" if record.kind == "graph-break" else "runs uncaptured"
    return f"{record.frame} {what}: {record.detail} [{record.reason}]\n{_in_words(record)}"


# Advice for entries that failed by a guard of this kind (GuardKind in csrc/guard/source.h; "" is torch's global state).
ADVICE_BY_GUARD = {
    "Constant": "a number, string or other constant is part of what was captured: pass it as a tensor if it changes from call to call",
    "Value": "a number or string is part of what was captured: pass it as a tensor if it changes from call to call",
    "Tensor": "shape, strides, dtype and device of a tensor are part of what was captured: pad to a few sizes, or convert before the call",
    "Identity": "another object comes with each call (a function, class or module made anew): make it once, and pass the same",
    "Names": "functions of several modules or namespaces share this code: capture one function for each",
    "ExactType": "values of several types come, or of classes made anew: convert them before the call, make the class once",
    "Length": "containers of several lengths come: pass them with one length, or their tensors stacked in one",
    "DictKeys": "dicts with several sets of keys come: pass them with the same keys in the same order",
    "SetItems": "sets with several elements come: pass tensors for what changes",
    "SpecialMethods": "a class gets or loses special methods between calls: define them all in the class statement",
    "Bases": "the bases of a class change between calls: derive another class instead",
    "Missing": "an attribute, key or variable comes and goes: set it before the first call, to None if there is nothing",
    "Integer": "an int comes that does not fit into 64 bits, or something else in its place: pass plain ints",
    "HeldOnce": "a __dict__ belongs to several objects in some calls, or is kept apart from its object: use getattr and setattr",
    "Present": "an attribute, key or variable comes and goes: set it before the first call, to None if there is nothing",
    "SameAs": "one object comes for two parameters in some calls and not in others: pass a clone",
    "NotSameAs": "one object comes for two parameters in some calls and not in others: pass a clone",
    "StorageSharing": "tensors share memory in some calls and not in others, and one is written to: pass clones",
    "Sizes": "a size or number decides what happens (the guard says which, and where): decide before the call, or alike in all calls",
    "": "one of torch's modes (grad mode, autocast, default dtype...) changes: make the calls under the same",
}


def say_limit(values: "BreakRecord", refusals: list[tuple[str, str]]) -> None:
    """Warns that a frame met the recompile limit. Called by the native pipeline, once for a code object.

    Args:
        refusals: for each entry, the latest first, the kind of the guard that refused the frame, and what it says.
    """
    record = record_of(values)
    entries = _count_of(len(refusals), "entry", "entries")
    refusals = [(kind, in_terms_of_program(message)) for kind, message in refusals]
    kind, message = refusals[0]
    lines = [
        f"minidynamo captures {record.frame} ({record.filename}:{record.line}) no more: it has {entries}, as many as the recompile "
        "limit allows, and none fits this call. Such calls run uncaptured from now on.",
        f"  The last guard that failed: {message}",
    ]
    others = [other for _, other in refusals[1:] if other != message]
    if others:
        lines.append("  Those of the entries before it:")
        lines += [f"    {other}" for other in dict.fromkeys(others)]
    if kind in ADVICE_BY_GUARD:
        lines.append(f"  * {ADVICE_BY_GUARD[kind]}")
    lines += [
        f"  * minidynamo.config.recompile_limit = {2 * len(refusals)}, or compile(..., recompile_limit={2 * len(refusals)}), allows more",
        "  * MINIDYNAMO_LOGS=recompiles says at each capture why there is another one",
        f"  See: {reason_for(record.reason).docs}",
    ]
    log_records.warn("\n".join(lines), record.capture)


_WHY_NO_RECOMPILE = {
    "stance": ("torch.compiler.set_stance('fail_on_recompile') forbids it", "make all kinds of calls once before the stance is set"),
    "setting": ("minidynamo.config.error_on_recompile forbids it", "make all calls with inputs of one kind"),
    "limit": ("minidynamo.config.fail_on_recompile_limit forbids to run it uncaptured", "raise minidynamo.config.recompile_limit"),
}


def recompile_error(values: "BreakRecord", refusals: list[tuple[str, str]], cause: str) -> RecompileError:
    """The error where a frame would have to be captured again, and must not. Called by the native pipeline, which raises it.

    Args:
        refusals: as for `say_limit`.
        cause: who forbids it, a key of `_WHY_NO_RECOMPILE`.
    """
    record = record_of(values)
    refusals = [(kind, in_terms_of_program(message)) for kind, message in refusals]
    why, hint = _WHY_NO_RECOMPILE[cause]
    again = "no entry fits this call" if refusals else "it has not been captured yet"
    lines = [f"{record.frame} ({record.filename}:{record.line}) would be captured: {again}, and {why}."]
    lines += [f"  failed guard: {message}" for message in dict.fromkeys(message for _, message in refusals)]
    advice = dict.fromkeys(ADVICE_BY_GUARD[kind] for kind, _ in refusals if kind in ADVICE_BY_GUARD)
    return RecompileError("\n".join([*lines, *(f"  * {text}" for text in advice), f"  * {hint}"]))


def say_uncaptured(values: "BreakRecord", entries: int) -> None:
    """Warns that a function runs uncaptured that was to be captured, or was. Called by the native pipeline, once for a code object.

    Args:
        entries: how many entries it has, which go on to be used where they fit.
    """
    record = record_of(values)
    what = f"minidynamo runs {record.frame} uncaptured"
    if entries:
        what += f" from now on, except where {_count_of(entries, 'earlier entry fits', 'earlier entries fit')}"
    log_records.warn(f"{what}: {record.detail} [{record.reason}]\n{_in_words(record)}", record.capture)


def say_loop(values: "BreakRecord", _: None) -> None:
    """Warns that the rest of a loop runs uncaptured, since a trace of it has reached its limit. Called by the native pipeline, once."""
    record = record_of(values)
    what = f"minidynamo runs the rest of a loop in {record.frame} uncaptured"
    log_records.warn(f"{what}: {record.detail} [{record.reason}]\n{_in_words(record)}", record.capture)


def say_progress(captured: str, seconds: float, filename: str, line: int, function: str, nodes: int) -> None:
    """Tells where a capture is that goes on for long. Called by the native pipeline."""
    log_records.warn(
        f"minidynamo has been capturing {captured} for {seconds:.0f} s: it is at {filename}:{line} in {function}, "
        f"with {nodes} nodes in the graph"
    )


_TERMS = {
    r"L\['\.stack(\d+)'\]": r"<intermediate value \1>",
    r"L\['\.handled'\]": "<the exception being handled>",
    r"L\['\.(?:its_)?arguments'\]": "<arguments>",
}


def in_terms_of_program(message: str) -> str:
    """The text of a guard, without the names that resume functions use for values that are no variables of the program."""
    for pattern, text in _TERMS.items():
        message = re.sub(pattern, text, message)
    return message


def _count_of(number: int, one: str, several: str) -> str:
    return f"1 {one}" if number == 1 else f"{number} {several}"


def _in_words(record: Uncaptured) -> str:
    """Everything but the headline, indented by two."""
    lines = [f"  at {record.filename}:{record.line} in {record.function}"]
    lines += ["      " + line for line in record.source.splitlines()]
    reason = reason_for(record.reason)
    if reason.explanation:
        lines.append(f"  {reason.explanation}")
    lines += [f"  * {hint}" for hint in reason.hints]
    if record.user_stack.count("\n") > 1:  # one frame is the place itself
        lines.append("  User stack (innermost last):")
        lines += ["  " + line for line in _with_source(record.user_stack).splitlines()]
    lines.append(f"  See: {reason.docs}")
    return "\n".join(lines)


def source_with_caret(filename: str, line: int, column: int = -1, end_column: int = -1) -> str:
    """A line of a program without its indentation, and carets below the given columns.

    Args:
        filename, line: as in a traceback; lines count from 1.
        column, end_column: in bytes, from 0; -1 for the start leaves the carets out, -1 for the end means the line's end.

    Returns:
        Two lines, one without columns, or "" where the source cannot be had.

    Example:
        >>> import linecache
        >>> linecache.cache["<example>"] = (0, None, ["    if x > 0:\\n"], "<example>")
        >>> print(source_with_caret("<example>", 1, 7, 12))
        if x > 0:
           ^^^^^
    """
    full = linecache.getline(filename, line).rstrip()
    text = full.lstrip()
    if not text:
        return ""
    encoded = full.encode()
    if column < 0 or column >= len(encoded):
        return text
    start = len(encoded[:column].decode(errors="replace"))
    end = len(full) if end_column <= column else len(encoded[:end_column].decode(errors="replace"))
    indentation = len(full) - len(text)
    before, below = full[indentation:start], full[max(start, indentation) : end]
    # Tabs stay, so that the two lines are equally wide whatever a tab is.
    padding = "".join(character if character == "\t" else " " * _width(character) for character in before)
    return f"{text}\n{padding}{'^' * max(1, sum(map(_width, below)))}"


def _width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


_STACK_LINE = re.compile(r'^  File "(?P<file>.*)", line (?P<line>\d+), in .*$')


def _with_source(stack: str) -> str:
    """The stack with each frame's source line below it, where it can be had."""
    lines = []
    for text in stack.splitlines():
        lines.append(text)
        place = _STACK_LINE.match(text)
        source = source_with_caret(place["file"], int(place["line"])) if place else ""
        if source:
            lines.append(f"    {source}")
    return "\n".join(lines)


def counted(records: Iterable[Uncaptured]) -> list[tuple[Uncaptured, int]]:
    """The records, those that say the same of the same place once, with how often; in order of appearance."""
    found: dict[tuple[object, ...], tuple[Uncaptured, int]] = {}
    for record in records:
        key = (record.kind, record.reason, record.detail, record.filename, record.line, record.column, record.end_column)
        first, count = found.get(key, (record, 0))
        found[key] = (first, count + 1)
    return list(found.values())
