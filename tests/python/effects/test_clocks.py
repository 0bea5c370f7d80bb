"""A captured function's measurements of itself, and its questions to the process."""

import logging
import os
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import minidynamo

Function = Callable[..., Any]
BACKENDS = ["eager", "aot_eager"]


def whole(x: torch.Tensor, log: list[Any]) -> Any:
    start = time.perf_counter()
    y = (x @ x.t()).sin()
    return y, time.perf_counter() - start


def kept(x: torch.Tensor, log: list[Any]) -> Any:
    start = time.time()
    y = x * 2
    elapsed = time.time() - start
    log.append(elapsed)
    log.append({"ms": elapsed * 1000, "text": f"{elapsed:.3f}s", "more": "%s %d" % (elapsed, 3)})  # noqa: UP031
    return y, isinstance(elapsed, float), type(start) is float


def behind(x: torch.Tensor, log: list[Any]) -> Any:
    y = x + 1
    log.append((time.monotonic(), "at"))
    return y


def before(x: torch.Tensor, log: list[Any]) -> Any:
    log.append(time.time())
    return x * 2


def of_the_process(x: torch.Tensor, log: list[Any]) -> Any:
    start = time.process_time()
    y = x.exp()
    log.append(time.process_time() + 0.5 - start)
    return y


WHOLE: list[Function] = [whole, kept, behind, before, of_the_process]


def shape_of(value: Any) -> Any:
    if isinstance(value, float):
        assert value >= 0
        return "float"
    if isinstance(value, dict):
        return {name: shape_of(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [shape_of(item) for item in value]
    return value.tolist() if isinstance(value, torch.Tensor) else type(value)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", WHOLE)
def test_one_graph(function: Function, backend: str) -> None:
    captured = minidynamo.compile(function, backend=backend, fullgraph=True)

    for scale in (1.0, 1.0, 2.0):
        x = torch.full((3, 3), scale, requires_grad=True)
        log, wanted_log = [], []  # type: ignore[var-annotated]
        got, wanted = captured(x, log), function(x, wanted_log)
        assert shape_of(got) == shape_of(wanted)
        assert shape_of(log) == shape_of(wanted_log)
        first = got[0] if isinstance(got, tuple) else got
        assert first.requires_grad
    assert len(minidynamo.debug.cache_entries(captured)) == 1


def test_in_inductor() -> None:
    y, elapsed = minidynamo.compile(whole, fullgraph=True)(torch.ones(3, 3), [])
    torch.testing.assert_close(y, (torch.ones(3, 3) @ torch.ones(3, 3)).sin())
    assert 0 < elapsed < 1000


def slow(gm: torch.fx.GraphModule, inputs: list[torch.Tensor]) -> Function:
    """A backend whose graphs take 50 ms."""

    def run(*arguments: torch.Tensor) -> Any:
        time.sleep(0.05)
        return gm.forward(*arguments)

    return run


def test_what_the_graph_takes_lies_between_two_looks() -> None:
    _, elapsed = minidynamo.compile(whole, backend=slow, fullgraph=True)(torch.ones(3, 3), [])
    assert elapsed >= 0.05


def test_parts_are_measured_one_by_one() -> None:
    def function(x: torch.Tensor) -> Any:
        start = time.perf_counter()
        y = x * 2
        middle = time.perf_counter()
        z = y + 1
        return z, middle - start, time.perf_counter() - middle

    captured = minidynamo.compile(function, backend=slow)
    for _ in range(2):
        z, first, second = captured(torch.ones(2))
        assert z.tolist() == [3, 3] and first >= 0.05 and second >= 0.05


def test_printed_and_logged(capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("minidynamo.tests.clocks")
    logger.setLevel(logging.INFO)

    def function(x: torch.Tensor) -> torch.Tensor:
        start = time.time()
        y = x * 2
        print(f"took {time.time() - start:.9f}", time.time() - start)
        logger.info("took %.2f", time.time() - start)
        return y

    captured = minidynamo.compile(function, backend="eager", fullgraph=True)
    with caplog.at_level(logging.INFO, logger="minidynamo.tests.clocks"):
        for _ in range(2):
            captured(torch.ones(2))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 and all(line.startswith("took 0.") and len(line.split()) == 3 for line in lines)
    assert len(caplog.records) == 2 and all(isinstance(record.args[0], float) for record in caplog.records)  # type: ignore[index]


def test_kept_on_an_object() -> None:
    state = SimpleNamespace(total=0.0, last=None)

    def function(x: torch.Tensor) -> torch.Tensor:
        start = time.perf_counter()
        y = x.relu()
        state.last = time.perf_counter() - start
        state.total = state.last + 1
        return y

    captured = minidynamo.compile(function, backend="eager", fullgraph=True)
    captured(torch.ones(2))
    first = state.last
    captured(torch.ones(2))
    assert isinstance(first, float) and state.last != first and state.total == state.last + 1


def decides(x: torch.Tensor, log: list[Any]) -> Any:
    start = time.time()
    y = x * 2
    return y if time.time() - start < 1000 else x


def divides(x: torch.Tensor, log: list[Any]) -> Any:
    start = time.perf_counter()
    y = x * 2
    return y, 1 / (time.perf_counter() - start + 1) > 0


def computes(x: torch.Tensor, log: list[Any]) -> Any:
    y = x * 2
    return y * (0 * time.time())


@pytest.mark.parametrize("function", [decides, divides, computes])
def test_what_the_time_decides_is_a_break(function: Function) -> None:
    x = torch.ones(2)
    assert shape_of(minidynamo.compile(function, backend="eager")(x, [])) == shape_of(function(x, []))
    minidynamo.reset()
    with pytest.raises(minidynamo.Unsupported):
        minidynamo.compile(function, backend="eager", fullgraph=True)(x, [])


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_environment(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_OF_CLOCKS_SCALE", "3")

    def function(x: torch.Tensor) -> Any:
        os.environ["TEST_OF_CLOCKS_SET"] = os.environ["TEST_OF_CLOCKS_SCALE"] + "0"
        scale = int(os.environ["TEST_OF_CLOCKS_SET"])
        was = os.environ.pop("TEST_OF_CLOCKS_GONE", None)
        return x * scale, was, os.getpid(), os.getcwd() == os.path.abspath("."), os.cpu_count()

    captured = minidynamo.compile(function, backend=backend, fullgraph=True)
    for value in ("3", "3", "5"):
        monkeypatch.setenv("TEST_OF_CLOCKS_SCALE", value)
        monkeypatch.setenv("TEST_OF_CLOCKS_GONE", value)
        y, was, process, _, _ = captured(torch.ones(2))
        assert y.tolist() == [int(value) * 10] * 2 and was == value and process == os.getpid()
        assert os.environ["TEST_OF_CLOCKS_SET"] == value + "0" and "TEST_OF_CLOCKS_GONE" not in os.environ
        told = os.popen("echo $TEST_OF_CLOCKS_SET,$TEST_OF_CLOCKS_GONE").read().strip()
        assert told == f"{value}0,"
    monkeypatch.delenv("TEST_OF_CLOCKS_SET")


def test_what_the_environment_refuses() -> None:
    def function(x: torch.Tensor) -> Any:
        try:
            os.environ["A=B"] = "1"
        except (ValueError, OSError) as error:
            return x + 1, str(error)
        return x, None

    assert minidynamo.compile(function, backend="eager")(torch.ones(1))[1] == function(torch.ones(1))[1]
    os.environ.pop("A=B", None)
