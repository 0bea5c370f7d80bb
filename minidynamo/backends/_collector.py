"""Python's cyclic garbage collector while a graph is compiled.

A compiler imports and builds some hundred thousand objects that stay. The collector goes through them again and again, up to the
whole heap of the program, for a fifth of the compiler's time.
"""

import contextlib
import gc
import os
import threading
from collections.abc import Iterator

_OBJECTS = 1_000_000  # new ones before a collection: at most some hundred megabytes of what could be freed

_lock = threading.Lock()
_compilers = 0
_thresholds = (0, 0, 0)  # the program's, while there are compilers


@contextlib.contextmanager
def few_collections() -> Iterator[None]:
    """Lets the collector run rarely, in all threads. Where the program has switched it off, or made it as rare, nothing changes; and
    thresholds that somebody sets meanwhile stay."""
    global _compilers, _thresholds
    with _lock:
        if _compilers == 0:
            _thresholds = gc.get_threshold()
            if 0 < _thresholds[0] < _OBJECTS:
                gc.set_threshold(_OBJECTS, *_thresholds[1:])
        _compilers += 1
    try:
        yield
    finally:
        with _lock:
            _compilers -= 1
            if _compilers == 0:
                _set_back()


def _set_back() -> None:
    if 0 < _thresholds[0] < _OBJECTS and gc.get_threshold() == (_OBJECTS, *_thresholds[1:]):
        gc.set_threshold(*_thresholds)


def _in_forked_child() -> None:
    """The other threads, and what they compile, are the parent's alone."""
    _lock._at_fork_reinit()  # type: ignore[attr-defined]
    if _compilers:
        _set_back()


os.register_at_fork(after_in_child=_in_forked_child)
