"""Warnings and log records of a captured function: one graph, said at every call, in the program's order, as from its lines."""

import functools
import io
import logging
import logging.handlers
import queue
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import minidynamo

Function = Callable[[torch.Tensor], Any]
LOGGER = logging.getLogger("test_announcements")
STATE = types.SimpleNamespace(step=0)


def says(scale: int) -> None:
    warnings.warn(f"scale {scale} is old", DeprecationWarning, stacklevel=2)


def warns(x: torch.Tensor) -> Any:
    y = x + 1
    warnings.warn("first")  # noqa: B028
    says(2)
    warnings.warn("of the caller", FutureWarning, stacklevel=2)
    return y * 2


def caller(function: Function, x: torch.Tensor) -> Any:
    return function(x)


def logs(x: torch.Tensor) -> Any:
    LOGGER.info("shape %s of %d", x.shape, 3)
    y = x * 2
    STATE.step = 5
    LOGGER.warning("behind")
    STATE.step = 6
    nested(7)
    LOGGER.debug("not shown")
    return y + 1


def nested(value: int) -> None:
    LOGGER.error("value %s", value)


@functools.lru_cache
def once(text: str) -> None:
    LOGGER.warning(text)


def logs_once(x: torch.Tensor) -> Any:
    once("said once")
    return x * 2


class Handler(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Any] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.seen.append((record.getMessage(), record.levelname, record.filename, record.lineno, record.funcName, STATE.step))


class Quiet(Handler):
    """Hears by a handler of the standard library alone, so that nothing of the program's runs when a record comes."""

    def __init__(self) -> None:
        super().__init__()
        self.records: Any = queue.SimpleQueue()
        self.inner = logging.handlers.QueueHandler(self.records)

    def listen(self) -> list[Any]:
        seen = []
        while not self.records.empty():
            record = self.records.get()
            seen.append((record.getMessage(), record.levelname, record.filename, record.lineno, record.funcName))
        return seen


@pytest.fixture
def quiet() -> Iterator[Quiet]:
    made = Quiet()
    LOGGER.setLevel(logging.INFO)
    LOGGER.addHandler(made.inner)
    LOGGER.propagate = False
    STATE.step = 0
    yield made
    LOGGER.removeHandler(made.inner)
    LOGGER.propagate = True


@pytest.fixture
def handler() -> Iterator[Handler]:
    made = Handler()
    LOGGER.setLevel(logging.INFO)
    LOGGER.addHandler(made)
    LOGGER.propagate = False
    STATE.step = 0
    yield made
    LOGGER.removeHandler(made)
    LOGGER.propagate = True


def collected(function: Function, calls: int) -> list[Any]:
    found = []
    for _ in range(calls):
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            caller(function, torch.ones(2))
        found += [(str(w.message), w.category, w.filename, w.lineno) for w in given]
    return found


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_warnings(backend: str) -> None:
    captured = minidynamo.compile(warns, backend=backend, fullgraph=True)
    expected = collected(warns, 3)
    assert len(expected) == 9
    assert collected(captured, 3) == expected
    assert len(minidynamo.debug.cache_entries(captured)) == 1


def test_filters_decide_at_each_call() -> None:
    captured = minidynamo.compile(warns, backend="eager", fullgraph=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        captured(torch.ones(2))
    assert len(collected(captured, 1)) == 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="first"):
            captured(torch.ones(2))


def test_once_per_place_is_once_per_place() -> None:
    def function(x: torch.Tensor) -> Any:
        warnings.warn("default")  # noqa: B028
        return x * 2

    counts = []
    for target in (function, minidynamo.compile(function, backend="eager", fullgraph=True)):
        globals().pop("__warningregistry__", None)
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("default")
            for _ in range(3):
                target(torch.ones(2))
        counts.append(len(given))
    assert counts == [1, 1]


def test_a_warning_that_the_function_may_catch() -> None:
    def function(x: torch.Tensor) -> Any:
        try:
            warnings.warn("caught")  # noqa: B028
        except UserWarning:
            return x - 1
        return x + 1

    captured = minidynamo.compile(function, backend="eager")
    for action in ("ignore", "error", "ignore"):
        with warnings.catch_warnings():
            warnings.simplefilter(action)
            torch.testing.assert_close(captured(torch.ones(2)), function(torch.ones(2)))


def test_filters_of_the_function_itself() -> None:
    def ignores(x: torch.Tensor) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            y = x * 2
        return y + 1

    def collects(x: torch.Tensor) -> Any:
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            warnings.warn("collected")  # noqa: B028
        return x * len(given)

    before = warnings.filters[:]
    whole = minidynamo.compile(ignores, backend="eager", fullgraph=True)
    for function, captured in ((ignores, whole), (collects, minidynamo.compile(collects, backend="eager"))):
        for _ in range(2):
            torch.testing.assert_close(captured(torch.ones(2)), function(torch.ones(2)))
            assert warnings.filters == before


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_log_records(quiet: Quiet, backend: str) -> None:
    captured = minidynamo.compile(logs, backend=backend, fullgraph=True)
    seen = []
    for function in (logs, captured, captured):
        function(torch.ones(2))
        seen.append(quiet.listen())
    assert seen[1] == seen[0] and seen[2] == seen[0] and len(seen[0]) == 3
    LOGGER.setLevel(logging.ERROR)
    captured(torch.ones(2))
    assert [message for message, *_ in quiet.listen()] == ["value 7"]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_handler_of_the_program(handler: Handler, backend: str) -> None:
    """It sees what the program has written by then."""
    captured = minidynamo.compile(logs, backend=backend)
    seen = []
    for function in (logs, captured, captured):
        STATE.step = 0
        function(torch.ones(2))
        seen.append(handler.seen)
        handler.seen = []
    assert seen[1] == seen[0] and seen[2] == seen[0]
    assert [step for *_, step in seen[0]] == [0, 5, 6]
    LOGGER.setLevel(logging.ERROR)
    captured(torch.ones(2))
    assert [message for message, *_ in handler.seen] == ["value 7"]


def test_a_handler_and_the_lists_of_the_program() -> None:
    items: list[Any] = []
    seen: list[Any] = []

    class Writing(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            seen.append(list(items))
            items.append(record.getMessage())

    def function(x: torch.Tensor) -> Any:
        items.append(1)
        LOGGER.error("heard")
        items.append(2)
        return x + len(items)

    made = Writing()
    LOGGER.addHandler(made)
    results = []
    for target in (function, minidynamo.compile(function, backend="eager")):
        items.clear()
        seen.clear()
        results.append((target(torch.ones(1)).item(), list(items), list(seen)))
    LOGGER.removeHandler(made)
    assert results[1] == results[0] == (4.0, [1, "heard", 2], [[1]])


def test_a_showwarning_of_the_program() -> None:
    items: list[int] = []
    seen: list[Any] = []

    def function(x: torch.Tensor) -> Any:
        items.append(1)
        warnings.warn("heard")  # noqa: B028
        items.append(2)
        return x + len(items)

    captured = minidynamo.compile(function, backend="eager")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda *_, **__: seen.append(list(items))
        captured(torch.ones(1))
    assert seen == [[1]]


def test_a_cached_function_that_logs(quiet: Quiet) -> None:
    captured = minidynamo.compile(logs_once, backend="eager", fullgraph=True)
    counts = []
    for function in (logs_once, captured):
        once.cache_clear()
        LOGGER.setLevel(logging.INFO)  # forgets which levels are on
        for _ in range(3):
            torch.testing.assert_close(function(torch.ones(2)), torch.ones(2) * 2)
        counts.append(len(quiet.listen()))
    assert counts == [1, 1]
    assert len(minidynamo.debug.cache_entries(captured)) == 1


def test_a_level_that_changes(quiet: Quiet) -> None:
    captured = minidynamo.compile(logs_once, backend="eager", fullgraph=True)
    heard = 0
    for level, most, expected in ((logging.ERROR, 0, 0), (logging.INFO, 0, 1), (logging.INFO, logging.CRITICAL, 1), (logging.INFO, 0, 2)):
        once.cache_clear()
        LOGGER.setLevel(level)
        logging.disable(most)
        captured(torch.ones(2))
        heard += len(quiet.listen())
        assert heard == expected
    once.cache_clear()
    LOGGER.disabled = True
    captured(torch.ones(2))
    LOGGER.disabled = False
    assert not quiet.listen()


def test_what_is_no_constant_is_logged_in_python(handler: Handler) -> None:
    def function(x: torch.Tensor) -> Any:
        LOGGER.info("sum %s", x.sum())
        LOGGER.error("with a traceback", exc_info=True)
        return x * 2

    captured = minidynamo.compile(function, backend="eager")
    seen = []
    for target in (function, captured, captured):
        torch.testing.assert_close(target(torch.ones(2)), torch.ones(2) * 2)
        seen.append([entry[:3] for entry in handler.seen])
        handler.seen = []
    assert seen[1] == seen[0] and seen[2] == seen[0]


def test_streams_of_the_function_itself() -> None:
    def function(x: torch.Tensor) -> Any:
        text = io.StringIO()
        text.write("abc")
        LOGGER.debug("not shown")
        return x * len(text.getvalue())

    captured = minidynamo.compile(function, backend="eager", fullgraph=True)
    torch.testing.assert_close(captured(torch.ones(2)), function(torch.ones(2)))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_handler_with_a_method_of_its_own_is_heard_at_its_place(handler: Handler, backend: str) -> None:
    stream = logging.StreamHandler(io.StringIO())
    heard: list[str] = []
    stream.emit = lambda record: heard.append(record.getMessage())  # type: ignore[method-assign]
    LOGGER.removeHandler(handler)
    LOGGER.addHandler(stream)
    try:

        def logs_and_looks(x: torch.Tensor) -> Any:
            heard.clear()
            LOGGER.warning("here")
            return x + 1, list(heard)

        captured = minidynamo.compile(logs_and_looks, backend=backend)
        assert [captured(torch.ones(2))[1] for _ in range(2)] == [["here"]] * 2
    finally:
        LOGGER.removeHandler(stream)


def test_a_class_of_records_that_refuses_is_heard_at_its_place(quiet: Quiet) -> None:
    class Record(logging.LogRecord):
        def __init__(self, *arguments: Any, **keywords: Any) -> None:
            raise TypeError("no record")

    def logs_and_catches(x: torch.Tensor) -> Any:
        try:
            LOGGER.warning("here")
        except TypeError as error:
            return x + 1, str(error)
        return x, "logged"

    captured = minidynamo.compile(logs_and_catches, backend="eager")
    assert captured(torch.ones(2))[1] == "logged"
    factory = logging.getLogRecordFactory()
    logging.setLogRecordFactory(Record)
    try:
        assert captured(torch.ones(2))[1] == "no record"
    finally:
        logging.setLogRecordFactory(factory)


def test_what_nobody_handles_goes_to_the_stream_of_that_moment() -> None:
    lonely = logging.Logger("test_announcements.lonely")

    def logs_and_looks(x: torch.Tensor) -> Any:
        kept, sys.stderr = sys.stderr, io.StringIO()
        lonely.warning("last")
        text, sys.stderr = sys.stderr.getvalue(), kept
        return x + 1, text

    captured = minidynamo.compile(logs_and_looks, backend="eager")
    assert [captured(torch.ones(2))[1] for _ in range(2)] == ["last\n"] * 2


def test_a_logger_whose_manager_changes_in_the_call_caches_what_is_true_then() -> None:
    def asks(x: torch.Tensor, logger: logging.Logger) -> Any:
        logger.manager.disable = 33
        within = logger.isEnabledFor(32)
        logger.manager.disable = 0
        logger.manager._clear_cache()  # type: ignore[attr-defined]
        empty = dict(logger._cache)  # type: ignore[attr-defined]
        return x + 1, within, empty, logger.isEnabledFor(32), dict(logger._cache)  # type: ignore[attr-defined]

    seen = []
    for function in (asks, minidynamo.compile(asks, backend="eager")):
        root = logging.RootLogger(30)
        manager = logging.Manager(root)
        root.manager = manager  # type: ignore[attr-defined]
        logger = manager.getLogger("one")
        for _ in range(2):
            seen.append((function(torch.ones(2), logger)[1:], dict(logger._cache)))  # type: ignore[attr-defined]
    assert seen[0] == ((False, {}, True, {32: True}), {32: True})
    assert seen[:2] == seen[2:]
