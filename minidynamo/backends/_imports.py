"""The time in which a backend loads modules, which a report shows apart from the time in which it compiles."""

import contextlib
import time
from collections.abc import Iterator

from minidynamo import _C


@contextlib.contextmanager
def counted_as_imports() -> Iterator[None]:
    """The time within is not the backend's but that of `imports`, in the record of the capture for which the backend works."""
    began = time.perf_counter()
    try:
        yield
    finally:
        _C.note_imports(time.perf_counter() - began)
