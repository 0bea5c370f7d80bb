"""Captures as events of a Chrome trace, which chrome://tracing and Perfetto show."""

import json
import os
import pathlib
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from minidynamo._records.captures import Capture


def events(captures: "Iterable[Capture]") -> list[dict[str, Any]]:
    """Two levels of events: each capture, and in it the phases. Times are in microseconds since the epoch, as the format has them."""
    made: list[dict[str, Any]] = []
    place = {"pid": os.getpid(), "tid": threading.main_thread().ident, "ph": "X", "cat": "minidynamo"}
    for capture in captures:
        about = {
            "capture": capture.id,
            "backend": capture.backend,
            "outcome": capture.outcome,
            "failed guards": list(capture.failed_guards),
        }
        made.append(
            place | {"name": f"[{capture.id}] {capture.function}", "ts": 1e6 * capture.began, "dur": 1e6 * capture.seconds, "args": about}
        )
        for phase, begin, end in capture.spans:
            made.append(
                place | {"name": phase, "ts": 1e6 * (capture.began + begin), "dur": 1e6 * (end - begin), "args": {"capture": capture.id}}
            )
    return made


def write(path: str | os.PathLike[str], captures: "Iterable[Capture]") -> None:
    """Writes the events as a JSON file."""
    pathlib.Path(path).write_text(json.dumps({"traceEvents": events(captures), "displayTimeUnit": "ms"}))
