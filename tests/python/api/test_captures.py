"""Captures have ids, which everything that is said of them bears: records, log, warnings, entries, profiles, torch's structured trace."""

import json
import logging
import pathlib
import re
import shutil
import subprocess
import sys
from typing import Any

import pytest
import torch
from environments import run_python
from torch.profiler import ProfilerActivity, profile

import minidynamo
from minidynamo import debug

X = torch.linspace(-1.0, 1.0, 6)


def broken(x: torch.Tensor, n: int) -> torch.Tensor:
    y = x.sin() * n
    minidynamo.graph_break()
    return y.cos() + n


def of_code(function: Any) -> list[debug.Capture]:
    return [capture for capture in debug.captures() if capture.code is function.__code__]


def test_a_function_has_one_number_and_its_captures_are_counted() -> None:
    f = minidynamo.compile(broken, backend="eager", dynamic=False)
    for n in (1, 2):
        f(X, n)
    made = of_code(broken)
    line = broken.__code__.co_firstlineno
    assert [capture.function for capture in made] == ["broken", f"broken from line {line + 2}"] * 2
    (number,) = {capture.id.partition("/")[0] for capture in made}
    assert [capture.id for capture in made] == [f"{number}/{i}" for i in range(4)]
    assert {entry.id for entry in debug.cache_entries(f)} == {f"{number}/0", f"{number}/2"}

    other = minidynamo.compile(lambda x: x + 1, backend="eager")
    other(X)
    (entry,) = debug.cache_entries(other)
    assert entry.id == f"{int(number) + 1}/0" and str(entry).startswith(f"entry {entry.id} of ")


def test_a_record_says_why_what_and_how_long() -> None:
    f = minidynamo.compile(broken, backend="eager", dynamic=False)
    for n in (1, 2):
        f(X, n)
    first, _, second, _ = of_code(broken)
    assert (first.outcome, first.operators, first.failed_guards, first.backend) == ("entry", 2, (), "eager")
    assert "L['n']: expected 1, got 2" in second.failed_guards[0]
    assert first.filename == __file__ and first.line == broken.__code__.co_firstlineno
    assert 0 < first.guard_seconds < first.seconds and first.guards > 0
    phases = sum(seconds for phase, seconds in first.phases.items())
    assert 0 < phases <= first.seconds
    assert [phase for phase, _, _ in first.spans] == ["evaluate", "graph_export", "backend", "codegen", "guards"]
    assert all(0 <= begin <= end <= first.seconds for _, begin, end in first.spans)
    totals = minidynamo.stats()["phases"]
    for phase in totals:
        assert totals[phase] == pytest.approx(sum(capture.phases[phase] for capture in debug.captures()))
    assert json.loads(json.dumps(first.to_dict()))["id"] == first.id
    minidynamo.reset()
    assert debug.captures() == []


def test_the_time_of_a_backends_imports_is_told_apart() -> None:
    code = """
import torch, minidynamo
f, g = (minidynamo.compile(lambda x, n=n: x.sin() + n, backend="aot_eager") for n in range(2))
f(torch.ones(2)), g(torch.ones(2))
first, second = (capture.phases for capture in minidynamo.debug.captures())
assert first["imports"] > 0.01 > second["imports"] >= 0 and first["backend"] > 0, (first, second)
assert "imports" in str(minidynamo.report()).splitlines()[0]
"""
    done = run_python(code)
    assert done.returncode == 0, done.stderr


def test_how_captures_end_that_make_no_entry() -> None:
    def uncaptured(x: torch.Tensor) -> torch.Tensor:
        return torch.jit.script(torch.nn.ReLU())(x)

    def failing(graph_module: torch.fx.GraphModule, inputs: list[torch.Tensor]) -> Any:
        raise NotImplementedError("no relu here")

    with pytest.raises(minidynamo.Unsupported):
        minidynamo.compile(broken, backend="eager", fullgraph=True)(X, 1)
    with pytest.raises(minidynamo.BackendCompilerFailed):
        minidynamo.compile(lambda x: x.relu(), backend=failing)(X)
    forbidden, failed = debug.captures()
    assert (forbidden.outcome, failed.outcome) == ("error", "error")
    assert forbidden.error.startswith("Unsupported: ") and "no relu here" in failed.error
    (record,) = debug.uncaptured()
    assert record.capture == forbidden.id


def test_the_error_of_a_program_is_not_put_into_words() -> None:
    """Which would run its code."""
    said = []

    class Own(KeyboardInterrupt):
        def __str__(self) -> str:
            said.append(1)
            return "own"

    def failing(graph_module: torch.fx.GraphModule, inputs: list[torch.Tensor]) -> Any:
        raise Own

    with pytest.raises(Own):
        minidynamo.compile(lambda x: x.relu(), backend=failing)(X)
    (capture,) = debug.captures()
    assert capture.outcome == "error" and capture.error == "Own" and not said


def test_a_backend_knows_for_which_capture_it_works() -> None:
    seen = []

    def backend(graph_module: torch.fx.GraphModule, inputs: list[torch.Tensor]) -> Any:
        of_torch = torch._guards.CompileContext.current_compile_id()
        seen.append((minidynamo._C.open_capture_id(), str(of_torch)))
        return graph_module.forward

    minidynamo.compile(broken, backend=backend)(X, 1)
    assert seen == [(capture.id, capture.id) for capture in debug.captures()] and len(seen) == 2
    assert minidynamo._C.open_capture_id() == "" and torch._guards.CompileContext.try_get() is None


def test_records_of_the_log_have_the_id(caplog: pytest.LogCaptureFixture) -> None:
    with minidynamo.config.patch(logs="debug"), caplog.at_level(logging.DEBUG, "minidynamo"):
        f = minidynamo.compile(broken, backend="eager", dynamic=False)
        for n in (1, 2):
            f(X, n)
    ids = {capture.id for capture in of_code(broken)}
    assert {record.capture for record in caplog.records} == ids  # type: ignore[attr-defined]
    assert all(record.getMessage().startswith(f"[{record.capture}] ") for record in caplog.records)  # type: ignore[attr-defined]
    (break_,) = (record for record in debug.graph_breaks()[:1])
    assert break_.capture == of_code(broken)[0].id
    lines = [record.getMessage() for record in caplog.records if record.name == "minidynamo.captures"]
    assert len(lines) == 4 and "2 operators" in lines[0] and "no entry fits: L['n']" in lines[2]


def test_warnings_name_what_the_program_has(caplog: pytest.LogCaptureFixture) -> None:
    """Not what resume functions have: `.stack0`."""

    numbers = iter(range(1, 9))

    @minidynamo.disable
    def number() -> int:
        return next(numbers)

    def f(x: torch.Tensor) -> torch.Tensor:
        return x.sin() * number()

    optimized = minidynamo.compile(f, backend="eager", dynamic=False, recompile_limit=2)
    for _ in range(4):
        optimized(X)
    texts = [record.getMessage() for record in caplog.records]
    line = f.__code__.co_firstlineno + 1
    (text,) = (text for text in texts if f"f from line {line} (" in text)
    assert re.match(r"\[\d+\] minidynamo captures ", text)
    assert ".stack" not in text and "<resume" not in text and re.search(r"guard that failed: <intermediate value \d+>", text), text


def test_a_profile_has_regions_for_guards_and_for_what_runs() -> None:
    f = minidynamo.compile(broken, backend="eager", dynamic=False)
    f(X, 1)
    ids = [capture.id for capture in of_code(broken)]
    number = ids[0].partition("/")[0]
    line = broken.__code__.co_firstlineno + 2
    with profile(activities=[ProfilerActivity.CPU]) as made:
        result = f(X, 1)
    assert torch.equal(result, broken(X, 1))
    names = [event.name for event in sorted(made.events(), key=lambda event: (event.time_range.start, -event.time_range.end))]
    assert [name for name in names if name.startswith("minidynamo")] == [
        f"minidynamo guards {number} broken",
        f"minidynamo region {ids[0]} broken",
        f"minidynamo guards {number} broken from line {line}",
        f"minidynamo region {ids[1]} broken from line {line}",
    ]
    sine = next(event for event in made.events() if event.name == "aten::sin")
    assert sine.cpu_parent.name == f"minidynamo region {ids[0]} broken"
    with profile(activities=[ProfilerActivity.CPU]) as plain:
        broken(X, 1)
    assert not any(event.name.startswith("minidynamo") for event in plain.events())


def test_a_failing_call_ends_its_region() -> None:
    f = minidynamo.compile(lambda x, y: (x @ y).sum(), backend="eager", dynamic=False)
    f(torch.ones(2, 3), torch.ones(3, 2))
    with profile(activities=[ProfilerActivity.CPU]) as made:
        with pytest.raises(RuntimeError):
            f(torch.ones(2, 3), torch.ones(2, 3))
        f(torch.ones(2, 3), torch.ones(3, 2))
    regions = [event for event in made.events() if event.name.startswith("minidynamo region")]
    assert regions and all(event.cpu_parent is None for event in regions)


def test_the_timeline_is_a_chrome_trace(tmp_path: pathlib.Path) -> None:
    minidynamo.compile(broken, backend="eager")(X, 1)
    debug.write_timeline(tmp_path / "timeline.json")
    events = json.loads((tmp_path / "timeline.json").read_text())["traceEvents"]
    captures = [event for event in events if event["name"].startswith("[")]
    assert [event["name"] for event in captures] == [f"[{capture.id}] {capture.function}" for capture in debug.captures()]
    for phase in (event for event in events if event["name"] == "backend"):
        assert any(outer["ts"] <= phase["ts"] and phase["ts"] + phase["dur"] <= outer["ts"] + outer["dur"] + 1 for outer in captures), phase


def test_logs_help_prints_the_topics() -> None:
    done = run_python("import minidynamo; print(minidynamo.config.logs)", MINIDYNAMO_LOGS="help")
    assert done.stdout == "frozenset()\n"
    for topic in minidynamo.config.LOG_TOPICS:
        assert re.search(rf"^  {topic} +\w", done.stderr, re.MULTILINE)
    assert re.search(r"^  info +captures, breaks, recompiles$", done.stderr, re.MULTILINE)


TRACED = """
import sys, torch, minidynamo
from transformers import BertConfig, BertModel
torch.manual_seed(0)
model = BertModel(BertConfig(vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)).eval()
minidynamo.compile(model, backend=sys.argv[1])(torch.arange(8)[None])
def f(x, n):
    y = x.sin() * n
    minidynamo.graph_break()
    return y.cos()
f = minidynamo.compile(f, backend="eager", dynamic=False)
for n in range(2):
    f(torch.ones(3), n)
def g(x):
    yield x
try:
    minidynamo.compile(g, backend="eager", fullgraph=True)(torch.ones(3))
except minidynamo.Unsupported:
    pass
def failing(graph_module, inputs):
    raise ValueError("no such operator")
try:
    minidynamo.compile(lambda x: x.exp(), backend=failing)(torch.ones(3))
except minidynamo.BackendCompilerFailed:
    pass
print(*[capture.id for capture in minidynamo.debug.captures()])
"""


@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.slow)])
def test_tlparse_shows_the_structured_trace(tmp_path: pathlib.Path, backend: str) -> None:
    tlparse = shutil.which("tlparse", path=str(pathlib.Path(sys.executable).parent))
    if tlparse is None:
        pytest.skip("tlparse is not installed")
    done = run_python(TRACED, arguments=(backend,), TORCH_TRACE=str(tmp_path / "trace"), MINIDYNAMO_ARTIFACTS="0")
    ids = done.stdout.split()
    (log,) = (tmp_path / "trace").glob("*.log")
    site = tmp_path / "site"
    parsed = subprocess.run([tlparse, str(log), "-o", str(site), "--no-browser"], capture_output=True, text=True)
    assert parsed.returncode == 0, parsed.stderr
    assert re.search(r"Stats \{ ok: \d+ \}", parsed.stderr), parsed.stderr  # nothing but records that it knows

    def page(capture: str, name: str) -> str:
        (path,) = (site / f"-_{capture.replace('/', '_')}_0").glob(f"{name}_*")
        return path.read_text()

    bert, first, rest, second, *_, _, _ = ids
    assert "embedding" in page(bert, "dynamo_output_graph") and "class GraphModule" in page(bert, "dynamo_output_graph")
    assert "L['self']" in page(bert, "dynamo_cpp_guards_str") and "Guard latency" in page(bert, "dynamo_cpp_guards_str")
    assert "def wrapper(self, *args, **kwargs)" in page(bert, "minidynamo_source")  # as transformers wraps forward
    assert list((site / f"-_{bert.replace('/', '_')}_0").glob("aot_forward_graph_*"))  # AOTAutograd's, under the same id
    assert "explicit" in page(first, "dynamo_graph_break_reason") or "graph_break" in page(first, "dynamo_graph_break_reason")
    assert "L['n']: expected 0, got 1" in page(second, "recompile_reasons")
    assert "cos" in page(rest, "dynamo_output_graph")
    failures = (site / "failures_and_restarts.html").read_text()
    assert "generator" in failures and "no such operator" in failures
    index = (site / "index.html").read_text()
    assert all(f"[{capture}]" in index.replace("-/", "") for capture in ids)
    events = json.loads((site / "chromium_events.json").read_text())
    assert {f"[{capture}]" for capture in ids} <= {event["name"].partition(" ")[0] for event in events}
