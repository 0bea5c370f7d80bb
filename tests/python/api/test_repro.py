"""`minidynamo.repro`: a captured call's graphs as files. Each file is run in a new process and shows what the call showed."""

import importlib
import math
import os
import pathlib
import subprocess
import sys
from typing import Any

import pytest
import torch

import minidynamo
from minidynamo import _repro
from minidynamo._capture.capture_config import capture_config
from minidynamo._repro import minimise
from minidynamo._repro.source import Header
from minidynamo._repro.writing import LIMIT_MET, Writing

_BACKENDS = """
import os
import torch

def _calls(graph_module, name):
    return [node for node in graph_module.graph.nodes if node.op.startswith("call_") and name in str(node.target)]

def raises_at_cos(graph_module, example_inputs):
    if _calls(graph_module, "cos"):
        raise ValueError("no cos here")
    return graph_module.forward

def sin_for_cos(graph_module, example_inputs):
    for node in _calls(graph_module, "cos"):
        node.target = "sin"
    graph_module.recompile()
    return graph_module.forward

def ends_the_process(graph_module, example_inputs):
    os._exit(7)
"""


@pytest.fixture
def planted(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "planted_backends.py").write_text(_BACKENDS)
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("planted_backends", None)
    return importlib.import_module("planted_backends")


def run(path: str, folder: pathlib.Path) -> "subprocess.CompletedProcess[str]":
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
    return subprocess.run([sys.executable, path], capture_output=True, text=True, env=environment, timeout=120)


def steps(x: torch.Tensor) -> torch.Tensor:
    return (x.exp().cos() + 1).tan()


def test_a_backend_that_raises(planted: Any, tmp_path: pathlib.Path) -> None:
    report = minidynamo.repro(steps, tmp_path, backend=planted.raises_at_cos)(torch.ones(3))
    (path,) = report.paths
    assert "no cos here" in report.failures[0]
    text = pathlib.Path(path).read_text()
    assert ".cos()" in text
    assert ".tan()" not in text  # cut after the operator with which the backend fails
    ran = run(path, tmp_path)
    assert ran.returncode == 1
    assert "ValueError: no cos here" in ran.stderr


def test_a_wrong_result(planted: Any, tmp_path: pathlib.Path) -> None:
    report = minidynamo.repro(steps, tmp_path, backend=planted.sin_for_cos)(torch.ones(3))
    (path,) = report.paths
    assert "cos" in report.failures[0]
    ran = run(path, tmp_path)
    assert ran.returncode == 1
    assert "differs from the graph run eagerly" in ran.stderr


def test_a_backend_that_ends_the_process_leaves_the_file(planted: Any, tmp_path: pathlib.Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import minidynamo, planted_backends, torch\n"
        "minidynamo.repro(lambda x: x.cos(), 'files', backend=planted_backends.ends_the_process)(torch.ones(3))\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    assert subprocess.run([sys.executable, str(program)], cwd=tmp_path, env=environment, timeout=120).returncode == 7
    (path,) = (tmp_path / "files").glob("repro_*.py")
    assert run(str(path), tmp_path).returncode == 7


def with_cond(x: torch.Tensor, index: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    chosen = torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.exp(), (x,))
    return chosen + torch.nn.functional.embedding(index, table) * torch.tensor(2.0)


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("data", [False, True])
def test_a_call_that_works(dynamic: bool | None, data: bool, tmp_path: pathlib.Path) -> None:
    fn = minidynamo.optimize("eager", dynamic=dynamic)(with_cond)
    inputs = torch.ones(4, 3), torch.tensor([0, 1, 0, 1]), torch.nn.Parameter(torch.randn(2, 3))
    report = minidynamo.repro(fn, tmp_path, data=data)(*inputs)
    (path,) = report.paths
    assert report.failures == ("",)
    assert pathlib.Path(path).with_suffix(".pt").exists() == data
    ran = run(path, tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "equals the graph run eagerly" in ran.stdout


def test_numbers_computed_of_sizes(tmp_path: pathlib.Path) -> None:
    def f(x: torch.Tensor, n: int) -> torch.Tensor:
        return x[:, : round(x.shape[1] * 0.3)] / math.sqrt(n) + math.ceil(n * 0.1) + math.floor(n * 0.4) + int(n / 2)

    report = minidynamo.repro(minidynamo.optimize("eager", dynamic=True)(f), tmp_path)(torch.ones(3, 16), 7)
    ran = run(report.paths[0], tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "equals the graph run eagerly" in ran.stdout


def test_views_share_memory(tmp_path: pathlib.Path) -> None:
    base = torch.arange(12.0).reshape(3, 4)
    report = minidynamo.repro(lambda x, y: x.mul_(2).sum() + y.sum(), tmp_path, backend="eager")(base.t(), base[1:, ::2])
    text = pathlib.Path(report.paths[0]).read_text()
    assert text.count("storage=0") == 2
    assert "tensor((4, 3), (1, 4)" in text
    assert "tensor((2, 2), (4, 2)" in text
    assert run(report.paths[0], tmp_path).returncode == 0


def test_what_cannot_be_written_is_said(tmp_path: pathlib.Path) -> None:
    def local_backend(graph_module: torch.fx.GraphModule, example_inputs: list[Any]) -> Any:
        return graph_module.forward

    local_backend.__qualname__ = "<local>"
    report = minidynamo.repro(steps, tmp_path, backend=local_backend)(torch.ones(3))
    assert report.paths == ()
    assert report.unwritten == ("the backend cannot be imported by name",)
    assert not list(tmp_path.glob("repro_*"))


def assert_only_cos_is_left(path: pathlib.Path) -> None:
    graph = path.read_text().split("class Graph")[1]
    assert ".cos()" in graph and ".exp()" not in graph and ".tan()" not in graph and "+" not in graph


def test_a_program_whose_backend_raises_writes_the_graph(planted: Any, tmp_path: pathlib.Path) -> None:
    with minidynamo.config.patch(repro=tmp_path / "files"), pytest.raises(minidynamo.BackendCompilerFailed) as raised:
        minidynamo.optimize(planted.raises_at_cos)(steps)(torch.ones(3))
    (path,) = (tmp_path / "files").glob("repro_*.py")
    assert str(path) in raised.value.__notes__[0]
    assert_only_cos_is_left(path)
    ran = run(str(path), tmp_path)
    assert ran.returncode == 1
    assert "ValueError: no cos here" in ran.stderr


def test_a_program_waits_a_limited_time_for_smaller_graphs(planted: Any, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_repro, "_seconds_left", 0.0)
    with minidynamo.config.patch(repro=tmp_path), pytest.raises(minidynamo.BackendCompilerFailed):
        minidynamo.optimize(planted.raises_at_cos)(steps)(torch.ones(3))
    (path,) = tmp_path.glob("repro_*.py")
    assert ".exp()" in path.read_text() and LIMIT_MET in path.read_text()


def test_a_folder_that_cannot_be_written_changes_nothing(planted: Any, tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_text("")
    with minidynamo.config.patch(repro=tmp_path / "file"), pytest.raises(minidynamo.BackendCompilerFailed, match="no cos here"):
        minidynamo.optimize(planted.raises_at_cos)(steps)(torch.ones(3))
    assert (tmp_path / "file").read_text() == ""


class Scaled(torch.nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.register_buffer("scale", torch.linspace(0, 1, size))


def test_a_failing_graph_is_made_smaller(planted: Any, tmp_path: pathlib.Path) -> None:
    def many(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        a = x.exp().tan()
        b = y.sin() + a
        return (b.sqrt().cos() + y).tan(), a, b

    for backend in planted.raises_at_cos, planted.sin_for_cos:
        report = minidynamo.repro(many, tmp_path, backend=backend)(torch.ones(3), torch.ones(3))
        (path,) = report.paths
        text = pathlib.Path(path).read_text()
        for gone in ".exp()", ".sin()", ".tan()", ".sqrt()", " + ":
            assert gone not in text.split("class Graph")[1]
        assert text.count("    tensor(") == 1  # the observed operand alone
        assert "The operator that fails" in text
        assert f"minidynamo {minidynamo.__version__}" in text
        assert "Lines of the program:" in text
        assert "test_repro.py" in text
        ran = run(path, tmp_path)
        assert ran.returncode == 1
        assert "no cos here" in ran.stderr or "differs" in ran.stderr


def test_a_limit_is_said(planted: Any) -> None:
    graph_module = torch.fx.symbolic_trace(steps)
    smaller: list[Any] = []
    fails = minimise.raises_alike(planted.raises_at_cos, ValueError("no cos here"))
    assert minimise.minimise(graph_module, [torch.ones(3)], fails, lambda graph, inputs: smaller.append(graph), most_calls=2)
    assert minimise.minimise(graph_module, [torch.ones(3)], fails, lambda graph, inputs: smaller.append(graph), most_seconds=0)
    assert smaller == []


def test_messages_are_alike_without_numbers_and_names(planted: Any) -> None:
    def raises(graph_module: torch.fx.GraphModule, inputs: list[Any]) -> Any:
        raise ValueError("no size 7 for buf_12")

    graph_module = torch.fx.symbolic_trace(steps)
    assert minimise.raises_alike(raises, ValueError("no size 3 for sin_1"))(graph_module, [])
    assert not minimise.raises_alike(raises, ValueError("no dtype 3 for sin_1"))(graph_module, [])
    assert not minimise.raises_alike(raises, TypeError("no size 3 for sin_1"))(graph_module, [])


@pytest.mark.parametrize("size", [4, 2000])
def test_constants(size: int, tmp_path: pathlib.Path) -> None:
    root = Scaled(size)
    graph = torch.fx.Graph()
    operand = graph.placeholder("x")
    scale = graph.get_attr("scale")
    graph.output((graph.call_method("mul", (graph.call_method("exp", (scale,)), operand)),))
    settings = capture_config("eager")
    writing = Writing(settings, tmp_path, data=False)
    writing.write_one(torch.fx.GraphModule(root, graph), [torch.ones(size)], Header())
    ((path, failure),) = writing.failing().items()
    assert failure == ""
    assert pathlib.Path(path).with_suffix(".pt").exists() == (size > 1000)
    ran = run(path, tmp_path)
    assert ran.returncode == 0, ran.stderr


def test_inputs_that_a_graph_writes_are_those_before_it(tmp_path: pathlib.Path) -> None:
    report = minidynamo.repro(lambda x, i: x.add_(1) + i.mul_(10), tmp_path, backend="eager", data=True)(
        torch.zeros(2), torch.tensor([3, 4])
    )
    data = torch.load(pathlib.Path(report.paths[0]).with_suffix(".pt"))
    assert [value.tolist() for value in data["inputs"]] == [[0, 0], [3, 4]]


def test_a_call_that_raises_names_the_files(tmp_path: pathlib.Path) -> None:
    def raises(x: torch.Tensor) -> None:
        print(x.sin())
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine") as raised:
        minidynamo.repro(raises, tmp_path, backend="eager")(torch.ones(3))
    (path,) = tmp_path.glob("repro_*.py")
    assert str(path) in raised.value.__notes__[0]


def test_guards_are_in_the_file(tmp_path: pathlib.Path) -> None:
    report = minidynamo.repro(lambda x: x.sin(), tmp_path, backend="eager")(torch.ones(3))
    assert "Guards of the cached entry:" in pathlib.Path(report.paths[0]).read_text()


def test_a_difference_in_a_program_writes_the_graph(planted: Any, tmp_path: pathlib.Path, caplog: Any) -> None:
    with minidynamo.config.patch(repro=tmp_path / "files", verify=True):
        minidynamo.optimize(planted.sin_for_cos)(lambda x: x.cos() + 1)(torch.ones(3))
    (path,) = (tmp_path / "files").glob("repro_*.py")
    assert str(path) in caplog.text
    assert_only_cos_is_left(path)
    assert run(str(path), tmp_path).returncode == 1


def test_a_suppressed_error_names_the_file(planted: Any, tmp_path: pathlib.Path, caplog: Any) -> None:
    with minidynamo.config.patch(repro=tmp_path / "files", suppress_errors=True):
        minidynamo.optimize(planted.raises_at_cos)(steps)(torch.ones(3))
    (path,) = (tmp_path / "files").glob("repro_*.py")
    assert str(path) in caplog.text


@pytest.mark.parametrize("is_writable", [True, False])
def test_the_environment_variable(is_writable: bool, planted: Any, tmp_path: pathlib.Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import minidynamo, planted_backends, torch\nminidynamo.optimize(planted_backends.raises_at_cos)(torch.cos)(torch.ones(3))\n"
    )
    folder = tmp_path / "files" if is_writable else program / "files"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path]), "MINIDYNAMO_REPRO": str(folder)}
    ran = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, env=environment, timeout=120)
    assert ran.returncode == 1
    assert "no cos here" in ran.stderr
    if is_writable:
        (path,) = folder.glob("repro_*.py")
        assert str(path) in ran.stderr
    else:
        assert "no file is written" in ran.stderr
