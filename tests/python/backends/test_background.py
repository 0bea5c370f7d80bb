"""Compiling in the background: graphs run uncompiled until another process has compiled them, and never fail for it."""

import os
import pathlib
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator

import pytest
import torch

import minidynamo
from minidynamo import _artifacts, _background, backends, config
from minidynamo._background import pool
from minidynamo._background.pool import Pool

SECONDS = 240.0


@pytest.fixture(autouse=True)
def own_folder(tmp_path: pathlib.Path) -> Iterator[pathlib.Path]:
    place = tmp_path / "artifacts"
    with config.patch(artifact_folder=str(place), artifacts=True, compile_in_background=True):
        yield place
    minidynamo.reset()


def loaded() -> int:
    return _artifacts.counts()["loaded"]


def written() -> int:
    return _artifacts.counts()["written"]


def mlp() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 4))


def step(model: torch.nn.Module, x: torch.Tensor) -> list[torch.Tensor]:
    model.zero_grad()
    result = model(x)
    result.square().sum().backward()
    return [result.detach(), *(parameter.grad.clone() for parameter in model.parameters())]


def test_inference_and_training_switch() -> None:
    model, x = mlp(), torch.randn(3, 8)
    captured = minidynamo.compile(model)
    expected, expected_step = model(x).detach(), step(model, x)
    before, before_written = loaded(), written()
    with torch.no_grad():
        torch.testing.assert_close(captured(x), expected)
    for got, want in zip(step(captured, x), expected_step, strict=True):
        assert torch.equal(got, want)  # it runs uncompiled
    assert loaded() == before
    assert minidynamo.wait_for_compiled(SECONDS)
    with torch.no_grad():
        torch.testing.assert_close(captured(x), expected)
    for got, want in zip(step(captured, x), expected_step, strict=True):
        torch.testing.assert_close(got, want)
    assert loaded() == before + 2
    assert written() == before_written  # this process has compiled nothing


class Layered(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Buffer(torch.full((64,), 2.0))
        self.layers = torch.nn.ModuleList(torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Tanh()) for _ in range(8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = x + torch.nn.functional.layer_norm(layer(x), (64,))
        return x * self.scale


def test_pieces() -> None:
    model, x = Layered(), torch.randn(4, 64)
    captured = minidynamo.compile(model)
    with torch.no_grad():
        expected = model(x)
        torch.testing.assert_close(captured(x), expected)
        assert minidynamo.wait_for_compiled(SECONDS)
        before = _artifacts.counts()
        torch.testing.assert_close(captured(x), expected)
    assert _artifacts.counts()["loaded"] > before["loaded"] and _artifacts.counts()["written"] == before["written"]


def test_the_processes_find_modules_where_the_program_does(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path that is no text is passed over, as Python does, and the folder that the program runs in is none of its own accord."""
    (tmp_path / "minidynamo.py").write_text("raise RuntimeError('the wrong one')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path] + [tmp_path])
    captured, x = minidynamo.compile(mlp()), torch.randn(3, 8)
    before = loaded()
    with torch.no_grad():
        captured(x)
        assert minidynamo.wait_for_compiled(SECONDS)
        captured(x)
    assert loaded() == before + 1


def with_sizes(x: torch.Tensor, factor: int) -> torch.Tensor:
    return (x.view(-1, 2).sum(1) * factor + x.shape[0]).relu()


def layers_of(model: Layered, x: torch.Tensor) -> torch.Tensor:
    return model(x)


@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize("in_pieces", [False, True])
def test_dynamic_sizes(in_pieces: bool, train: bool) -> None:
    """The call that finds the graph compiled has the next one captured again: the compiler's conditions on sizes are guards."""
    model = Layered()

    def inputs(size: int) -> tuple[object, ...]:
        x = torch.randn(size, 64 if in_pieces else 3, requires_grad=train)
        return (model, x) if in_pieces else (x, size + 1)

    function = layers_of if in_pieces else with_sizes
    captured = minidynamo.compile(function, dynamic=True)

    def compare(size: int) -> None:
        given = inputs(size)
        result, expected = captured(*given), function(*given)  # type: ignore[arg-type]
        torch.testing.assert_close(result, expected)
        if train:
            x = next(x for x in given if isinstance(x, torch.Tensor))
            gradients = [torch.autograd.grad(y.sum(), x)[0] for y in (result, expected)]
            torch.testing.assert_close(*gradients)

    def ids() -> list[str]:
        return [entry.id for entry in minidynamo.debug.cache_entries(captured)]

    with torch.set_grad_enabled(train):
        compare(4)
        (first,) = ids()
        before = _artifacts.counts()
        assert minidynamo.wait_for_compiled(SECONDS)
        compare(6)  # runs uncompiled, and finds that the compiler is done
        assert ids() == []
        compare(6)
        (second,) = ids()
        assert second != first
        assert _artifacts.counts()["loaded"] > before["loaded"]
        for size in (6, 8, 4, 10):
            compare(size)
    assert ids() == [second]
    assert _artifacts.counts()["written"] == before["written"]  # this process has compiled nothing


@pytest.mark.parametrize("stance", ["fail_on_recompile", "eager_on_recompile"])
def test_a_stance_against_recompiles_means_other_captures(stance: str) -> None:
    captured = minidynamo.compile(with_sizes, dynamic=True)
    x = torch.randn(4, 3)
    with torch.no_grad():
        captured(x, 5)
        before = loaded()
        assert minidynamo.wait_for_compiled(SECONDS)
        with torch.compiler.set_stance(stance):
            for _ in range(3):
                torch.testing.assert_close(captured(x, 5), with_sizes(x, 5))
            assert loaded() == before + 1
            if stance == "fail_on_recompile":
                with pytest.raises(minidynamo.RecompileError):
                    captured(x.double(), 5)


def test_sizes_for_which_the_conditions_of_the_compiler_do_not_hold() -> None:
    """They are compiled in the background too, beside those for which they hold."""

    def padded(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.max_pool1d(x[None], 3, stride=2)[0].relu()

    captured = minidynamo.compile(padded, dynamic=True)
    before = written()
    with torch.no_grad():
        for size in (9, 9, 9, 3, 3, 3, 64, 64, 64, 9, 3):
            x = torch.randn(2, size)
            torch.testing.assert_close(captured(x), padded(x))
            assert minidynamo.wait_for_compiled(SECONDS)
    assert written() == before


def test_a_dynamic_graph_that_no_other_process_can_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is compiled by the capture after that, and not sent again."""
    captured = minidynamo.compile(with_sizes, dynamic=True)
    monkeypatch.setattr(_background, "_compiled_here_only", {})
    with torch.no_grad(), monkeypatch.context() as patch:
        patch.setattr(pool, "_ask", answers_with_a_hindrance)
        captured(torch.ones(4, 3), 5)
        assert minidynamo.wait_for_compiled(SECONDS)
        before = written()
        for _ in range(3):
            x = torch.randn(4, 3)
            torch.testing.assert_close(captured(x, 5), with_sizes(x, 5))
    assert written() == before + 1


def answers_with_a_hindrance(process: object, job: pool.Job) -> str:
    job.hindrance = "it is a test"
    return ""


@pytest.mark.parametrize(
    "surroundings",
    [
        lambda: torch.autocast("cpu", dtype=torch.bfloat16),
        lambda: torch.inference_mode(),
        lambda: torch._inductor.config.patch(max_autotune_pointwise=True),
    ],
)
def test_what_a_graph_is_compiled_in(surroundings) -> None:
    import torch._inductor.config

    model, x = mlp(), torch.randn(3, 8)
    captured = minidynamo.compile(model)
    before = loaded()
    with surroundings(), torch.no_grad():
        expected = model(x)
        captured(x)
        assert minidynamo.wait_for_compiled(SECONDS)
        torch.testing.assert_close(captured(x), expected, rtol=2e-2, atol=2e-2)
    assert loaded() == before + 1


def views_and_writes(x: torch.Tensor, view: torch.Tensor, counts: torch.Tensor) -> tuple[torch.Tensor, ...]:
    counts.add_(1)
    return (x * view).sum(), view.t(), torch.nn.functional.max_pool2d(x[None, None], 2)


def test_inputs_are_made_anew_as_they_are() -> None:
    def inputs() -> tuple[torch.Tensor, ...]:
        base = torch.arange(32.0).reshape(8, 4)
        return torch.ones(4, 4), base[2:6], torch.zeros(3, dtype=torch.long)

    captured = minidynamo.compile(views_and_writes)
    before = loaded()
    captured(*inputs())
    assert minidynamo.wait_for_compiled(SECONDS)
    expected_inputs, got_inputs = inputs(), inputs()
    torch.testing.assert_close(captured(*got_inputs), views_and_writes(*expected_inputs))
    torch.testing.assert_close(got_inputs, expected_inputs)
    assert loaded() == before + 1


def test_a_graph_that_only_this_process_knows_is_compiled_at_once() -> None:
    weight = torch.randn(3)

    @torch.library.custom_op("minidynamo_tests::doubled_in_background", mutates_args=())
    def doubled(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @doubled.register_fake
    def _(x: torch.Tensor) -> torch.Tensor:
        return torch.empty_like(x)

    captured = minidynamo.compile(lambda x: doubled(x) + weight)
    x = torch.randn(3)
    torch.testing.assert_close(captured(x), x * 2 + weight)
    assert minidynamo.wait_for_compiled(0)


def test_a_dead_process_leaves_the_graph_as_it_is(monkeypatch, caplog) -> None:
    monkeypatch.setattr(pool.sys, "executable", "/bin/false")
    model, x = mlp(), torch.randn(5, 8)
    monkeypatch.setattr(Pool, "current", Pool())
    captured = minidynamo.compile(model)
    with torch.no_grad():
        expected = captured(x)
        assert minidynamo.wait_for_compiled(SECONDS)
        assert torch.equal(captured(x), expected) and torch.equal(captured(x), expected)
    assert "has ended" in caplog.text and caplog.text.count("runs uncompiled") == 1


def test_an_error_of_the_compiler_is_told_and_the_graph_runs(monkeypatch, caplog) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_CPP_WRAPPER", "0")
    monkeypatch.setenv("CXX", "/bin/false")
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(config.artifact_folder) + "-inductor")
    model, x = mlp(), torch.randn(6, 8)
    captured = minidynamo.compile(model)
    with torch.no_grad():
        expected = captured(x)
        assert minidynamo.wait_for_compiled(SECONDS)
        assert torch.equal(captured(x), expected)
    assert caplog.text.count("could not be compiled in the background") == 1


def test_threads_call_while_it_is_compiled() -> None:
    model, x = mlp(), torch.randn(7, 8)
    captured = minidynamo.compile(model)
    with torch.no_grad():
        expected = model(x)
    wrong: list[torch.Tensor] = []

    def work() -> None:
        with torch.no_grad():
            for _ in range(50):
                if not torch.allclose(captured(x), expected, atol=1e-5):
                    wrong.append(x)
            minidynamo.wait_for_compiled(SECONDS)
            for _ in range(50):
                if not torch.allclose(captured(x), expected, atol=1e-5):
                    wrong.append(x)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def run(program: str, folder: pathlib.Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**os.environ, "MINIDYNAMO_ARTIFACT_FOLDER": str(folder), "MINIDYNAMO_COMPILE_IN_BACKGROUND": "1", **environment},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def test_a_program_ends_without_waiting(own_folder: pathlib.Path) -> None:
    program = """
        import torch, minidynamo
        from minidynamo._background.pool import Pool
        print(minidynamo.compile(torch.nn.Linear(4, 4))(torch.ones(2, 4)).shape)
        while not Pool.current.processes: pass
        print(*(process.pid for process in Pool.current.processes))
    """
    ended = run(program, own_folder)
    assert (ended.returncode, ended.stderr) == (0, ""), ended.stderr
    with pytest.raises(ProcessLookupError):
        os.kill(int(ended.stdout.split()[-1]), 0)


def test_the_compiler_is_not_imported(own_folder: pathlib.Path) -> None:
    program = """
        import sys, torch, minidynamo
        model = minidynamo.compile(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()))
        model(torch.ones(2, 4)).sum().backward()
        assert minidynamo.wait_for_compiled(200)
        model(torch.ones(2, 4)).sum().backward()
        print([name for name in ("torch._inductor", "torch._functorch.aot_autograd", "sympy") if name in sys.modules])
    """
    assert run(program, own_folder).stdout.splitlines()[-1] == "[]"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_has_processes_of_its_own(own_folder: pathlib.Path) -> None:
    program = """
        import os, torch, minidynamo
        model = minidynamo.compile(torch.nn.Linear(4, 4))
        x = torch.ones(2, 4)
        with torch.no_grad():
            expected = model(x)
            child = os.fork()
            if child == 0:
                other = minidynamo.compile(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()))
                other(x), model(x)
                done = minidynamo.wait_for_compiled(200)
                other(x)
                os._exit(0 if done and minidynamo._artifacts.counts()["loaded"] == 1 else 1)
            assert minidynamo.wait_for_compiled(200)
            assert torch.allclose(model(x), expected)
        print(os.waitpid(child, 0)[1], minidynamo._artifacts.counts()["loaded"])
    """
    ended = run(program, own_folder)
    assert ended.stdout.split() == ["0", "1"], ended.stderr


def test_an_interrupt_of_the_terminal_does_not_reach_the_process() -> None:
    process = pool.start_process(pool._environment())
    try:
        assert os.getpgid(process.pid) != os.getpgrp()
        pool.write(process.stdin, b"no message")
        is_error, text = pool.pickle.loads(pool.read(process.stdout))
        assert is_error and text
    finally:
        pool.end_process(process)


def test_backends_that_are_not_inductor_are_as_ever() -> None:
    captured = minidynamo.compile(lambda x: x.sin() + 1, backend="aot_eager")
    x = torch.randn(3)
    torch.testing.assert_close(captured(x), x.sin() + 1)
    assert minidynamo.wait_for_compiled(0) and "inductor" in backends.list_backends()
