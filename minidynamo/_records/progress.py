"""A line on a terminal about the capture that is being made, while it takes long. The commands that run a program show it."""

import _thread
import os
import shutil
import threading
import time
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from minidynamo._records.captures import Capture

_SECONDS = 1.0  # between two versions of the line, and before the first one
_ERASED = "\r\x1b[K"

_shown_on: "_Line | None" = None


def show_on(stream: TextIO) -> None:
    """From now on, long captures are shown there; nothing happens if it is no terminal that can erase a line."""
    global _shown_on
    if stream.isatty() and os.environ.get("TERM") != "dumb":
        _shown_on = _Line(stream)
        os.register_at_fork(after_in_child=_hide)  # a child has no thread to write the line, and the terminal is its parent's


def _hide() -> None:
    global _shown_on
    _shown_on = None


def is_on() -> bool:
    return _shown_on is not None


def begin(capture: "Capture") -> None:
    if _shown_on is not None:
        _shown_on.begin(capture)


def end(capture: "Capture") -> None:
    if _shown_on is not None:
        _shown_on.end(capture)


class _Line:
    """The line. A thread of its own writes it, since the capture's thread is in the backend; `threading` does not list it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._open: dict[str, Capture] = {}  # by id, in the order in which they began
        self._lock = threading.Lock()
        self._is_running = False
        self._is_written = False

    def begin(self, capture: "Capture") -> None:
        with self._lock:
            self._open[capture.id] = capture
            if not self._is_running:
                self._is_running = True
                _thread.start_new_thread(self._run, ())

    def end(self, capture: "Capture") -> None:
        with self._lock:
            self._open.pop(capture.id, None)
            if self._is_written:
                self._write("")

    def _run(self) -> None:
        while True:
            time.sleep(_SECONDS)
            with self._lock:
                if not self._open:
                    self._is_running = False
                    return
                capture = next(reversed(self._open.values()))  # the innermost
                seconds = time.time() - capture.began
                if seconds >= _SECONDS:
                    place = f"{os.path.basename(capture.filename)}:{capture.line}"
                    self._write(f"[{capture.id}] {capture.function} ({place}) is captured for {capture.backend}: {seconds:.0f} s")

    def _write(self, text: str) -> None:
        self._is_written = bool(text)
        try:
            self._stream.write(_ERASED + text[: shutil.get_terminal_size().columns - 1])
            self._stream.flush()
        except (OSError, ValueError):  # the terminal has gone, or the program has closed the stream
            self._open.clear()
