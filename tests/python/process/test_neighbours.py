"""Beside others in one process: torch.compile, modes, hooks of saved tensors, profilers, tracers. Whatever is active around a call,
inside of it or in another thread, the results are eager's, and the others see the program's own operations."""

import importlib.util
import os
import pathlib
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.fx
from environments import without_settings
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

import minidynamo
from minidynamo import _C

Run = Callable[..., subprocess.CompletedProcess[str]]
PACKAGE = pathlib.Path(str(importlib.util.find_spec("minidynamo").origin)).parents[1]  # type: ignore[union-attr]


PRELUDE = """
import torch, minidynamo
from minidynamo import _C

def reasons():
    return [record["reason"] for record in _C.uncaptured()]
"""
GLOBALLY = (
    PRELUDE
    + """
from minidynamo._api.global_capture import start
start("eager")
"""
)


@pytest.fixture
def run(tmp_path: pathlib.Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a program in a process of its own, since a wrong hook takes the process down. It prints "ok" at its end."""

    def run_program(program: str, prelude: str = PRELUDE) -> subprocess.CompletedProcess[str]:
        file = tmp_path / "program.py"
        file.write_text(prelude + program)
        cleaned = without_settings()
        path = os.pathsep.join([str(PACKAGE), os.environ.get("PYTHONPATH", "")])
        done = subprocess.run(
            [sys.executable, str(file)],
            capture_output=True,
            text=True,
            timeout=300,
            env={**cleaned, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        )
        assert done.returncode == 0, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr[-4000:]}"
        assert done.stdout.split()[-1:] == ["ok"], done.stdout + done.stderr[-4000:]
        return done

    return run_program


def reasons() -> list[str]:
    return [record["reason"] for record in _C.uncaptured()]


# --- torch.compile

BESIDE = """
graphs = []

def theirs_backend(gm, inputs):
    graphs.append(gm)
    return gm.forward

@torch.compile(backend=theirs_backend)
def theirs(x):
    return (x.sin() + 1).relu()

@minidynamo.optimize(backend="eager")
def ours(x):
    return (x.cos() * 2).tanh()

x = torch.randn(5)
def theirs_plain(x): return (x.sin() + 1).relu()
def ours_plain(x): return (x.cos() * 2).tanh()
"""


def test_a_captured_function_calls_a_compiled_one(run: Run) -> None:
    run(
        BESIDE
        + """
@minidynamo.optimize(backend="eager")
def both(x):
    y = x + 1
    y = theirs(y)
    return y * 3

for _ in range(4):
    torch.testing.assert_close(both(x), theirs_plain(x + 1) * 3)
assert not graphs and not reasons(), (graphs, _C.uncaptured())  # traced through
assert minidynamo.stats()["graphs"] == 1
torch.testing.assert_close(theirs(x), theirs_plain(x))
assert len(graphs) == 1, graphs
print("ok")
"""
    )


def test_a_compiled_function_calls_a_captured_one(run: Run) -> None:
    run(
        BESIDE
        + """
@torch.compile(backend=theirs_backend)
def both(x):
    y = x + 1
    y = ours(y)
    return y * 3

for _ in range(4):
    torch.testing.assert_close(both(x), ours_plain(x + 1) * 3)
torch.testing.assert_close(ours(x), ours_plain(x))
assert minidynamo.stats()["graphs"] == 1  # only the call from outside
for _ in range(2):
    torch.testing.assert_close(both(x), ours_plain(x + 1) * 3)
assert graphs
print("ok")
"""
    )


def test_torch_compile_of_an_optimized_callable_compiles_the_function(run: Run) -> None:
    run(
        BESIDE
        + """
whole = torch.compile(ours, backend=theirs_backend, fullgraph=True)
torch.testing.assert_close(whole(x), ours_plain(x))
torch.testing.assert_close(whole(x), ours_plain(x))
assert len(graphs) == 1 and minidynamo.stats()["graphs"] == 0
torch.testing.assert_close(minidynamo.optimize(backend="eager")(theirs)(x), theirs_plain(x))

model = torch.nn.Sequential(torch.nn.Linear(5, 5), torch.nn.ReLU())
expected = model(x)
torch.testing.assert_close(torch.compile(minidynamo.optimize(backend="eager")(model), backend=theirs_backend)(x), expected)
torch.testing.assert_close(minidynamo.optimize(backend="eager")(torch.compile(model, backend=theirs_backend))(x), expected)
torch.testing.assert_close(minidynamo.optimize(backend="eager")(model)(x), expected)
print("ok")
"""
    )


def test_errors_on_either_side_can_be_caught_and_the_call_made_again(run: Run) -> None:
    run(
        BESIDE
        + """
@torch.compile(backend=theirs_backend)
def fails(x, n):
    if n == 0:
        raise ValueError("theirs")
    return x.view(n) + 1

@minidynamo.optimize(backend="eager")
def calls(x, n):
    return fails(x * 2, n) * 2

@minidynamo.optimize(backend="eager")
def fails_here(x, n):
    if n == 0:
        raise KeyError("ours")
    return x.view(n) + 1

@torch.compile(backend=theirs_backend)
def calls_here(x, n):
    return fails_here(x * 2, n) * 2

def broken_backend(gm, inputs):
    raise RuntimeError("broken")

@torch.compile(backend=broken_backend)
def never(x):
    return x + 1

@minidynamo.optimize(backend="eager")
def calls_never(x):
    return never(x * 2)

for _ in range(5):
    for call in (calls, calls_here):
        for n, error in ((0, (ValueError, KeyError)), (3, RuntimeError)):
            try:
                call(x, n)
            except error:
                pass
            else:
                raise AssertionError(n)
        torch.testing.assert_close(call(x, 5), (x * 2 + 1) * 2)
    torch.testing.assert_close(calls_never(x), x * 2 + 1)  # by the backend of the one that is called
    try:
        never(x)
    except Exception as error:
        assert "broken" in str(error), error
    else:
        raise AssertionError
    torch.testing.assert_close(theirs(x), theirs_plain(x))
    torch.testing.assert_close(ours(x), ours_plain(x))
print("ok")
"""
    )


def test_resets_of_either_side_and_disable(run: Run) -> None:
    run(
        BESIDE
        + """
@minidynamo.optimize(backend="eager")
def both(x):
    y = theirs(x + 1)
    return plain(y) * 3

@torch._dynamo.disable
def plain(y):
    return theirs(y).sum() + ours(y).sum()

def expected(x):
    y = theirs_plain(x + 1)
    return (theirs_plain(y).sum() + ours_plain(y).sum()) * 3

for n in range(6):
    torch.testing.assert_close(both(x), expected(x))
    if n % 3 == 0:
        torch._dynamo.reset()
    if n % 3 == 1:
        minidynamo.reset()
with torch.compiler.set_stance("force_eager"):
    torch.testing.assert_close(both(x), expected(x))
torch.testing.assert_close(both(x), expected(x))
print("ok")
"""
    )


def test_a_program_under_global_capture_that_compiles(run: Run) -> None:
    run(
        """
ran = []

def theirs_backend(gm, inputs):
    ran.append(len(gm.graph.nodes))
    return gm.forward

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)

    def forward(self, x):
        y = self.layer(x)
        torch._dynamo.graph_break()
        return y.relu()

model = Model()

def step(x):
    y = model(x)
    minidynamo.graph_break()
    return compiled(y) + 1

def expected(x):
    y = model.layer(model.layer(x).relu()).relu()
    return y + 1

compiled = torch.compile(model, backend=theirs_backend)
x = torch.randn(3, 4)
for n in range(4):
    with torch.no_grad():
        torch.testing.assert_close(step(x), expected(x))
    if n == 1:
        torch._dynamo.reset()
assert ran and minidynamo.stats()["graphs"] > 0, (ran, minidynamo.stats())
print("ok")
""",
        GLOBALLY,
    )


def test_torch_compile_of_a_module_that_ran_captured(run: Run) -> None:
    run(
        """
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)

    def forward(self, x):
        y = self.layer(x)
        torch._dynamo.graph_break()
        y = y.relu()
        torch._dynamo.graph_break()
        return y + 1

model = Model()
x = torch.randn(3, 4)
expected = model(x)
for _ in range(2):
    torch.testing.assert_close(minidynamo.compile(model, backend="eager")(x), expected)
    torch.testing.assert_close(torch.compile(model, backend="eager")(x), expected)
    torch.testing.assert_close(minidynamo.compile(model, backend="eager")(x), expected)
assert not any(name.startswith(("__resume_at", "__compiled_fn")) and "minidynamo" in name for name in globals())
print("ok")
"""
    )


def test_both_at_once_in_threads(run: Run) -> None:
    """One thread's torch.compile begins and ends, and takes its hook out, while the other traces what C code calls back."""
    run(
        BESIDE
        + '''
import threading

class Pair:
    def __init__(self, a):
        self.a = a
    def __add__(self, other):
        return Pair(self.a + other.a)

failures = []
stop = threading.Event()

def compiles():
    while not stop.is_set():
        try:
            torch.testing.assert_close(theirs(x), theirs_plain(x))
        except Exception as error:
            failures.append(error)
            return

source = """
def f(x, items):
    ordered = sorted(items, key=lambda item: -item)
    made = sum((Pair(i) for i in ordered), Pair(0))
    mapped = list(map(lambda i: x * i, ordered))
    return sum(mapped) + made.a
"""

def traces():
    for n in range(150):
        namespace = dict(globals())
        exec(source, namespace)
        f = namespace["f"]
        try:
            got = minidynamo.compile(f, backend="eager")(x, [1, n, 3])
            torch.testing.assert_close(got, f(x, [1, n, 3]))
        except Exception as error:
            failures.append(error)
    stop.set()

threads = [threading.Thread(target=compiles), threading.Thread(target=compiles), threading.Thread(target=traces)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not failures, failures
assert reasons() == [], set(reasons())
print("ok")
'''
    )


def test_the_hook_leaves_whatever_order_hooks_come_and_go_in(run: Run) -> None:
    run(
        BESIDE
        + """
from minidynamo._api import global_capture
from torch._C._dynamo.eval_frame import set_eval_frame

def callback(frame, *rest):
    from torch._dynamo.types import ConvertFrameReturn
    return ConvertFrameReturn()

def check():
    for _ in range(2):
        torch.testing.assert_close(ours(x), ours_plain(x))
        torch.testing.assert_close(theirs(x), theirs_plain(x))

check()
for _ in range(3):
    global_capture.start("eager")
    check()
    set_eval_frame(callback)
    global_capture.stop()
    ours_plain(x)
    global_capture.start("eager")
    ours_plain(x)
    set_eval_frame(None)
    check()
    global_capture.stop()
    check()
    set_eval_frame(callback)
    global_capture.start("eager")
    set_eval_frame(None)
    before = minidynamo.stats()["captured_frames"] if "captured_frames" in minidynamo.stats() else None
    ours_plain(x)
    global_capture.stop()
    check()

def depth(n):
    return 0 if n == 0 else 1 + depth(n - 1)
assert depth(500) == 500
print("ok")
"""
    )


# --- modes and hooks around a call


def body(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return (x @ w).relu().sin() * 2


class Seen(TorchDispatchMode):
    """Counts operators; `factor` is state that changes what it does."""

    def __init__(self, factor: float = 1.0) -> None:
        super().__init__()
        self.names: list[str] = []
        self.factor = factor

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        assert not any(_C.is_fake(x) for x in args if isinstance(x, torch.Tensor))
        self.names.append(str(func))
        result = func(*args, **(kwargs or {}))
        return result * self.factor if str(func) == "aten.sin.default" else result


class SeenFunctions(TorchFunctionMode):
    def __init__(self, factor: float = 1.0) -> None:
        super().__init__()
        self.names: list[str] = []
        self.factor = factor

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        self.names.append(name)
        result = func(*args, **(kwargs or {}))
        return result * self.factor if name == "sin" else result


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("kind", [Seen, SeenFunctions])
def test_a_mode_sees_the_programs_operations_once(kind: Any, backend: str) -> None:
    x, w = torch.randn(3, 4), torch.randn(4, 4, requires_grad=True)
    plain, captured = kind(), kind()
    with plain:
        body(x, w)
    f = minidynamo.compile(lambda x, w: body(x, w), backend=backend)
    with captured:
        first = f(x, w)
    assert captured.names == plain.names
    torch.testing.assert_close(first, body(x, w))
    torch.testing.assert_close(f(x, w), body(x, w))  # now captured
    is_traced = kind is SeenFunctions  # its method is
    assert minidynamo.stats()["graphs"] == 1 + is_traced
    captured.names.clear()
    with captured:
        f(x, w)
        captured.factor = 3.0
        torch.testing.assert_close(f(x, w), body(x, w))
    assert captured.names[: len(plain.names)] == plain.names
    assert reasons() == ([] if is_traced else ["active-mode"])


def test_the_default_device_is_no_reason_to_stop() -> None:
    f = minidynamo.compile(lambda x: x + torch.ones(3), backend="eager")
    with torch.device("cpu"):
        f(torch.ones(3))
    assert minidynamo.stats()["graphs"] == 1 and reasons() == []


def test_flop_counter_fake_mode_and_functionalization() -> None:
    from torch._subclasses import FakeTensorMode
    from torch.utils.flop_counter import FlopCounterMode

    x, w = torch.randn(3, 4), torch.randn(4, 4)
    f = minidynamo.compile(body, backend="eager", fullgraph=True)
    for _ in range(2):
        with FlopCounterMode(display=False) as flops:
            f(x, w)
        assert flops.get_total_flops() == 2 * 3 * 4 * 4
        with FakeTensorMode() as mode:
            result = f(mode.from_tensor(x), mode.from_tensor(w))
        assert type(result).__name__ == "FakeTensor" and not _C.is_fake(result)
        torch.testing.assert_close(torch.func.functionalize(f)(x, w), body(x, w))
        torch.testing.assert_close(f(x, w), body(x, w))


def test_transforms_around_a_captured_function() -> None:
    x, w = torch.randn(3, 4), torch.randn(4, 4)

    def loss(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return body(x, w).sum()

    f = minidynamo.compile(loss, backend="eager")
    for _ in range(2):
        torch.testing.assert_close(torch.vmap(f, (0, None))(x, w), torch.vmap(loss, (0, None))(x, w))
        torch.testing.assert_close(torch.func.grad(f)(x, w), torch.func.grad(loss)(x, w))
        torch.testing.assert_close(torch.func.jvp(f, (x, w), (x, w)), torch.func.jvp(loss, (x, w), (x, w)))
        torch.testing.assert_close(torch.func.hessian(f)(x, w), torch.func.hessian(loss)(x, w))
        torch.testing.assert_close(f(x, w), loss(x, w))


def test_tracers_see_through() -> None:
    from torch.fx.experimental.proxy_tensor import make_fx

    x, w = torch.randn(3, 4), torch.randn(4, 4)
    f = minidynamo.compile(body, backend="eager")
    for _ in range(2):
        traced = torch.jit.trace(f, (x, w), check_trace=False)
        assert "relu" in str(traced.graph)
        torch.testing.assert_close(traced(w, x.T), body(w, x.T))
        assert [node.name for node in make_fx(f)(x, w).graph.nodes if "relu" in node.name]
        symbolic = torch.fx.symbolic_trace(lambda x, w: f(x, w) + 1)
        assert [str(node.target) for node in symbolic.graph.nodes if "relu" in str(node.target)]
        torch.testing.assert_close(symbolic(w, w), body(w, w) + 1)
        torch.testing.assert_close(f(x, w), body(x, w))


@pytest.mark.parametrize("strict", [False, True])
def test_export_of_a_module_that_calls_a_captured_function(strict: bool) -> None:
    captured = minidynamo.compile(body, backend="eager")

    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
            return (body if strict else captured)(x, w)

    x, w = torch.randn(3, 4), torch.randn(4, 4)
    model = minidynamo.compile(Model(), backend="eager") if strict else Model()
    torch.testing.assert_close(model(x, w), body(x, w))
    exported = torch.export.export(model._orig_mod if strict else model, (x, w), strict=strict)
    torch.testing.assert_close(exported.module()(x, w), body(x, w))
    torch.testing.assert_close(model(x, w), body(x, w))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_hooks_of_saved_tensors_around_a_call(backend: str) -> None:
    def run_with_hooks(f: Any) -> tuple[list[Any], torch.Tensor]:
        w = torch.arange(16.0).view(4, 4).requires_grad_()
        x = torch.ones(3, 4)
        seen: list[Any] = []

        def pack(t: torch.Tensor) -> tuple[str, torch.Tensor]:
            assert not _C.is_fake(t)
            seen.append(("pack", tuple(t.shape), t.sum().item()))
            return "packed", t

        def unpack(packed: tuple[str, torch.Tensor]) -> torch.Tensor:
            seen.append(("unpack", tuple(packed[1].shape)))
            return packed[1] * 2

        with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
            result = f(x, w)
        result.sum().backward()
        assert w.grad is not None
        return seen, w.grad

    f = minidynamo.compile(lambda x, w: body(x, w), backend=backend)
    expected, gradient = run_with_hooks(body)
    for _ in range(2):
        seen, got = run_with_hooks(f)
        assert seen == expected
        torch.testing.assert_close(got, gradient)
        w = torch.randn(4, 4, requires_grad=True)
        f(torch.ones(3, 4), w)  # captured
    assert minidynamo.stats()["graphs"] == 1


@pytest.mark.skipif(not hasattr(torch.autograd.graph, "node_creation_hook"), reason="from torch 2.14 on")
@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_a_hook_hears_of_new_nodes_of_the_graph(backend: str) -> None:
    def inside(x: torch.Tensor, w: torch.Tensor, heard: list[str]) -> torch.Tensor:
        y = body(x, w)
        with torch.autograd.graph.node_creation_hook(lambda node: heard.append(node.name())):
            y = (y * y).exp()
        return y.sin()

    def names(f: Any, *more: Any) -> list[str]:
        heard: list[str] = []
        with torch.autograd.graph.node_creation_hook(lambda node: heard.append(node.name())):
            f(torch.ones(3, 4), torch.ones(4, 4, requires_grad=True), *more)
        return heard

    f = minidynamo.compile(lambda x, w: body(x, w), backend=backend)
    for _ in range(2):
        assert names(f) == names(body)
        f(torch.ones(3, 4), torch.randn(4, 4, requires_grad=True)).sum().backward()  # captured
    assert minidynamo.stats()["graphs"] == 1

    broken = minidynamo.compile(inside, backend=backend)
    for _ in range(2):
        seen: dict[str, list[str]] = {}
        for name, function in (("eager", inside), ("captured", broken)):
            seen[name] = []
            function(torch.ones(3, 4), torch.ones(4, 4, requires_grad=True), seen[name])
        assert set(seen["captured"]) == set(seen["eager"]) or backend != "eager"
        assert seen["captured"]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("how", ["hooks", "save_on_cpu", "disabled", "anomaly", "one thread"])
def test_hooks_of_saved_tensors_inside(how: str, backend: str) -> None:
    def pack(t: torch.Tensor) -> torch.Tensor:
        assert not _C.is_fake(t)
        return t * 3

    contexts: dict[str, Any] = {
        "hooks": lambda: torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t + 1),
        "save_on_cpu": lambda: torch.autograd.graph.save_on_cpu(),
        "disabled": lambda: torch.autograd.graph.disable_saved_tensors_hooks("not now"),
        "anomaly": lambda: torch.autograd.set_detect_anomaly(True),
        "one thread": lambda: torch.autograd.set_multithreading_enabled(False),
    }
    make = contexts[how]

    def f(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        y = (x @ w).sin()
        with make():
            y = (y * y).exp()
        return y.sin()

    def gradient(f: Any) -> torch.Tensor:
        w = (torch.arange(16.0).view(4, 4) / 16).requires_grad_()
        f(torch.ones(3, 4), w).sum().backward()
        assert w.grad is not None
        return w.grad

    expected = gradient(f)
    for _ in range(2):
        torch.testing.assert_close(gradient(minidynamo.compile(f, backend=backend)), expected)


# --- profilers, debuggers


def test_a_profiler_that_records_shapes(run: Run) -> None:
    done = run(
        """
from torch.profiler import profile, ProfilerActivity, record_function

@minidynamo.optimize(backend="eager")
def f(x, w):
    with record_function("inside"):
        y = (x @ w).relu()
    return y.sum()

x, w = torch.randn(3, 4), torch.randn(4, 4, requires_grad=True)
expected = (x @ w).relu().sum()
for options in ({}, {"with_stack": True}, {"profile_memory": True, "with_flops": True}):
    minidynamo.reset()
    for _ in range(2):
        with profile(activities=[ProfilerActivity.CPU], record_shapes=True, **options) as profiler:
            with record_function("outside"):
                torch.testing.assert_close(f(x, w), expected)
                f(x, w).backward()
        counts = {event.key: event.count for event in profiler.key_averages()}
        assert counts["aten::mm"] == 3, counts  # two forward, one backward: the trace does not count
        assert counts["outside"] == 1
    with torch.autograd.profiler.profile(record_shapes=True, use_cpu=True) as old:
        torch.testing.assert_close(f(x, w), expected)
    assert sum(event.count for event in old.key_averages() if event.key == "aten::mm") == 1
print("ok")
"""
    )
    lines = [line for line in done.stderr.splitlines() if "STAGE" not in line and "profiler" not in line.lower()]
    assert len(lines) < 10, done.stderr[:3000]


@pytest.mark.parametrize("setter", ["settrace", "setprofile"])
def test_tracing_functions_see_the_programs_own_calls(setter: str) -> None:
    def callee(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    def f(x: torch.Tensor) -> torch.Tensor:
        return callee(x) * 2

    def watch(f: Any) -> list[tuple[str, str]]:
        seen: list[tuple[str, str]] = []

        def note(frame: Any, event: str, arg: Any) -> Any:
            if frame.f_code.co_filename == __file__ and frame.f_code.co_name in ("f", "callee"):
                seen.append((frame.f_code.co_name, event))
            return note

        getattr(sys, setter)(note)
        try:
            result = f(torch.ones(2))
        finally:
            getattr(sys, setter)(None)
        assert result.tolist() == [4.0, 4.0]
        return seen

    captured = minidynamo.compile(f, backend="eager")
    expected = watch(f)
    assert watch(captured) == expected
    captured(torch.ones(2))
    assert watch(captured) == expected
    assert minidynamo.stats()["graphs"] == 1


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring is there from Python 3.12 on")
@pytest.mark.parametrize("of", ["all code", "one function"])
def test_monitoring_tools_see_the_programs_own_lines(of: str) -> None:
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined]

    def callee(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    def f(x: torch.Tensor) -> torch.Tensor:
        return callee(x) * 2

    codes = {f.__code__, callee.__code__}

    def watch(called: Any) -> list[tuple[str, int]]:
        seen: list[tuple[str, int]] = []
        monitoring.use_tool_id(monitoring.COVERAGE_ID, "a test")
        note = lambda code, line: seen.append((code.co_name, line)) if code in codes else None
        monitoring.register_callback(monitoring.COVERAGE_ID, monitoring.events.LINE, note)
        line = monitoring.events.LINE
        try:
            if of == "all code":
                monitoring.set_events(monitoring.COVERAGE_ID, line)
            else:
                monitoring.set_local_events(monitoring.COVERAGE_ID, callee.__code__, line)
            assert called(torch.ones(2)).tolist() == [4.0, 4.0]
        finally:
            monitoring.set_events(monitoring.COVERAGE_ID, 0)
            monitoring.set_local_events(monitoring.COVERAGE_ID, callee.__code__, 0)
            called(torch.ones(2))  # registered still: run plainly
            monitoring.free_tool_id(monitoring.COVERAGE_ID)
        return seen

    captured = minidynamo.compile(f, backend="eager")
    expected = watch(f)
    assert expected
    assert watch(captured) == expected
    assert minidynamo.stats()["graphs"] == 0
    captured(torch.ones(2))
    assert minidynamo.stats()["graphs"] == 1, "captured as soon as the tool is gone"
    assert watch(captured) == expected


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring is there from Python 3.12 on")
@pytest.mark.usefixtures("no_collection")  # a finalizer's lines are events too
def test_a_captured_function_that_switches_events_on_itself() -> None:
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined]
    tool, line = monitoring.DEBUGGER_ID, monitoring.events.LINE

    def f(x: torch.Tensor, seen: list[tuple[str, int]]) -> torch.Tensor:
        monitoring.register_callback(tool, line, lambda code, number: seen.append((code.co_name, number)))
        y = x + 1
        monitoring.set_events(tool, line)
        y = y * 2
        monitoring.set_events(tool, 0)
        return y

    def run(called: Any) -> list[tuple[str, int]]:
        monitoring.use_tool_id(tool, "a test")
        seen: list[tuple[str, int]] = []
        assert called(torch.ones(2), seen).tolist() == [4.0, 4.0]
        monitoring.free_tool_id(tool)
        return seen

    assert run(minidynamo.compile(f, backend="eager")) == run(f)
    minidynamo.reset()

    # Registered by the function itself, so that it begins captured.
    def g(x: torch.Tensor, seen: list[tuple[str, int]]) -> torch.Tensor:
        y = x + 1
        monitoring.use_tool_id(tool, "a test")
        monitoring.register_callback(tool, line, lambda code, number: seen.append((code.co_name, number)))
        monitoring.set_events(tool, line)
        y = y * 2
        monitoring.set_events(tool, 0)
        monitoring.free_tool_id(tool)
        return y

    captured = minidynamo.compile(g, backend="eager")
    for _ in range(2):
        expected: list[tuple[str, int]] = []
        seen: list[tuple[str, int]] = []
        assert torch.equal(g(torch.ones(2), expected), captured(torch.ones(2), seen))
        assert seen == expected


# --- backends of torch's


def test_backends_made_with_aot_autograd_and_torchs_own_as_callables() -> None:
    import torch._dynamo
    from functorch.compile import make_boxed_func
    from torch._dynamo.backends.common import aot_autograd
    from torch._functorch.aot_autograd import aot_module_simplified

    def forward_only(gm: torch.fx.GraphModule, inputs: Any) -> Any:
        return make_boxed_func(gm.forward)

    def simplified(gm: torch.fx.GraphModule, inputs: Any) -> Any:
        return aot_module_simplified(gm, inputs, fw_compiler=forward_only)

    def boxed(gm: torch.fx.GraphModule, inputs: Any) -> Any:
        return make_boxed_func(gm.forward)

    names = ("eager", "aot_eager", "aot_eager_decomp_partition", "aot_eager_default_partitioner", "inductor")
    backends = [torch._dynamo.lookup_backend(name) for name in names]
    for backend in [aot_autograd(fw_compiler=forward_only), simplified, boxed, *backends]:
        minidynamo.reset()
        f = minidynamo.compile(lambda x, w: body(x, w) + 1, backend=backend)
        for _ in range(2):
            x, w = torch.randn(3, 4), torch.randn(4, 4, requires_grad=True)
            other = w.detach().clone().requires_grad_()
            result, expected = f(x, w), body(x, other) + 1
            torch.testing.assert_close(result, expected)
            result.sum().backward()
            expected.sum().backward()
            torch.testing.assert_close(w.grad, other.grad)
        assert minidynamo.stats()["graphs"] == 1


# Functions that other tools have made, called from a captured function.


def relu_twice(x: torch.Tensor) -> torch.Tensor:
    return (x * 2).relu() + 1


def in_one_graph(f: Callable[[torch.Tensor], torch.Tensor], backend: str) -> None:
    """First and second call, another shape, gradients."""
    captured = minidynamo.compile(f, backend=backend, fullgraph=True)
    for x in (torch.ones(3), torch.ones(3) * -1, torch.arange(6.0).reshape(2, 3)):
        for leaf in (x, x.clone().requires_grad_()):
            for _ in range(2):
                result, expected = captured(leaf), f(leaf)
                torch.testing.assert_close(result, expected)
                if leaf.requires_grad:
                    (own,) = torch.autograd.grad(result.sum(), leaf)
                    assert torch.equal(own, torch.autograd.grad(expected.sum(), leaf)[0])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("backend", ["eager", "aot_eager", pytest.param("inductor", marks=pytest.mark.slow)])
def test_script_functions_are_nodes(backend: str) -> None:
    scripted, traced = torch.jit.script(relu_twice), torch.jit.trace(relu_twice, (torch.ones(3),))
    in_one_graph(lambda x: scripted(x.sin()).cos() + traced(x), backend)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_another_script_function_is_another_entry() -> None:
    one, two = torch.jit.script(relu_twice), torch.jit.trace(lambda x: x - 1, (torch.ones(3),))
    f = minidynamo.compile(lambda x, inner: inner(x) * 2, backend="eager", fullgraph=True)
    x = torch.ones(3)
    for inner in (one, two, one):
        assert torch.equal(f(x, inner), inner(x) * 2)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("make", [torch.jit.script, lambda module: torch.jit.trace(module, (torch.ones(3),))])
def test_script_modules_are_breaks_that_say_so(make: Callable[[torch.nn.Module], Any]) -> None:
    linear = torch.nn.Linear(3, 3)
    inner = make(torch.nn.Sequential(linear, torch.nn.ReLU()))

    def f(x: torch.Tensor) -> Any:
        return inner(x.sin()).cos()

    captured = minidynamo.compile(f, backend="eager")
    x = torch.ones(3)
    for _ in range(2):
        assert torch.equal(captured(x), f(x))
    captured(x).sum().backward()
    assert linear.weight.grad is not None
    with pytest.raises(minidynamo.Unsupported, match=r"torch\.jit module") as caught:
        minidynamo.compile(f, backend="eager", fullgraph=True)(x)
    assert caught.value.filename == __file__ and caught.value.line == f.__code__.co_firstlineno + 1


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_traced_function_with_a_tensor_of_its_own_is_a_break() -> None:
    weight = torch.full((3,), 3.0)
    traced = torch.jit.trace(lambda x: x * weight, (torch.ones(3),))
    x = torch.ones(3)
    for backend in ("eager", "aot_eager"):
        assert torch.equal(minidynamo.compile(lambda x: traced(x + 1) - 1, backend=backend)(x), traced(x + 1) - 1)
    with pytest.raises(minidynamo.Unsupported, match="tensor of its own"):
        minidynamo.compile(lambda x: traced(x + 1) - 1, backend="eager", fullgraph=True)(x)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compiled_and_optimized_callables_are_traced_through(backend: str) -> None:
    torch._dynamo.reset()
    module = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU())
    for wrap in (torch.compile, minidynamo.compile):
        function = wrap(relu_twice, backend="eager", fullgraph=True)
        wrapped = wrap(module, backend="eager")
        method = wrap(module.forward, backend="eager")
        in_one_graph(lambda x, f=function: f(x.sin()).cos(), backend)  # type: ignore[misc]
        in_one_graph(lambda x, m=wrapped: m(x.sin()).cos(), backend)  # type: ignore[misc]
        in_one_graph(lambda x, m=method: m(x.sin()).cos(), backend)  # type: ignore[misc]


def test_the_settings_of_the_outer_one_hold() -> None:
    def breaks(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        minidynamo.graph_break()
        return y * 2

    for wrap in (torch.compile, minidynamo.compile):
        inner = wrap(breaks, backend="eager", fullgraph=True)
        f = minidynamo.compile(lambda x, inner=inner: inner(x) - 1, backend="eager")  # type: ignore[misc]
        minidynamo.reset()
        assert torch.equal(f(torch.ones(2)), torch.full((2,), 3.0))
        assert minidynamo.stats()["graphs"] == 2


def test_another_wrapper_of_another_function_is_another_entry() -> None:
    f = minidynamo.compile(lambda x, inner: inner(x) * 2, backend="eager", fullgraph=True)
    one, two = minidynamo.compile(relu_twice, backend="eager"), minidynamo.compile(lambda x: x - 1, backend="eager")
    x = torch.ones(3)
    for inner in (one, two, one):
        assert torch.equal(f(x, inner), inner.__wrapped__(x) * 2)


def test_exported_and_symbolically_traced_programs_are_traced_through() -> None:
    module = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU())
    exported = torch.export.export(module, (torch.ones(3),)).module()
    traced = torch.fx.symbolic_trace(module)
    for inner in (exported, traced):
        captured = minidynamo.compile(lambda x, inner=inner: inner(x.sin()).cos(), backend="eager", fullgraph=True)  # type: ignore[misc]
        for _ in range(2):
            torch.testing.assert_close(captured(torch.ones(3)), module(torch.ones(3).sin()).cos())


# Other tools applied to optimized callables: they see the program's own operations, captured before or not.


class WithInner(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = minidynamo.compile(torch.nn.Linear(3, 3), backend="eager")

    def forward(self, x: torch.Tensor) -> Any:
        return self.inner(x) + optimized_relu(x)


optimized_relu = minidynamo.compile(relu_twice, backend="eager")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("is_warm", [False, True])
@pytest.mark.parametrize(
    "make",
    [
        lambda m, x: torch.jit.trace(m, (x,)),
        lambda m, x: torch.fx.symbolic_trace(m),
        lambda m, x: torch.export.export(m, (x,), strict=False).module(),
        lambda m, x: __import__("torch.fx.experimental.proxy_tensor").fx.experimental.proxy_tensor.make_fx(m)(x),
        lambda m, x: torch.compile(m, backend="eager"),
    ],
    ids=["jit.trace", "symbolic_trace", "export", "make_fx", "torch.compile"],
)
def test_tools_over_optimized_callables(make: Callable[..., Any], is_warm: bool) -> None:
    torch._dynamo.reset()
    model, x = WithInner(), torch.ones(3)
    if is_warm:
        model(x)
    made = make(model, x)
    for value in (x, x * -2):
        torch.testing.assert_close(made(value), model(value))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_jit_trace_of_an_optimized_module() -> None:
    module = torch.nn.Linear(3, 3)
    optimized = minidynamo.compile(module, backend="eager")
    traced = torch.jit.trace(optimized, (torch.ones(3),), check_trace=False)
    assert torch.equal(traced(torch.ones(3) * 2), module(torch.ones(3) * 2))
    assert "linear" in str(traced.inlined_graph)
    assert minidynamo.stats()["graphs"] == 0


def test_a_module_is_made_after_one_was_compiled_by_torch() -> None:
    model = torch.nn.Linear(2, 2)
    torch.compile(model, backend="eager")(torch.ones(2))  # from now on TorchDynamo notes each module that is made

    outside = torch.nn.Sequential(torch.nn.Tanh(), torch.nn.ReLU())

    def program(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.ReLU()(x) + torch.nn.Sequential(torch.nn.Tanh(), torch.nn.ReLU())[1:](x) + outside[:1](x)

    assert torch.equal(minidynamo.compile(program, fullgraph=True, backend="eager")(torch.ones(2)), program(torch.ones(2)))


def test_audit_hooks_run_as_they_are(run: Run) -> None:
    run(
        """
import sys

seen = []


class Listener:
    def heard(self, event, args):
        seen.append(event)


sys.addaudithook(lambda event, args: seen.append(event))
sys.addaudithook(Listener().heard)


def f(x):
    return x + eval("1 + 1") + len(f.__code__.co_varnames)


x = torch.ones(2)
captured = minidynamo.compile(f, backend="eager", fullgraph=True)
assert all(torch.equal(captured(x), f(x)) for _ in range(2))
assert "compile" in seen
print("ok")
"""
    )
