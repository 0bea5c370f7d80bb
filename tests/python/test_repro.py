"""`minidynamo.repro`: a captured call's graphs as files. Each file is run in a new process and shows what the call showed."""

import importlib
import os
import pathlib
import subprocess
import sys
from typing import Any

import pytest
import torch

import minidynamo

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


def test_a_program_whose_backend_raises_writes_the_graph(planted: Any, tmp_path: pathlib.Path) -> None:
    with minidynamo.config.patch(repro=tmp_path / "files"), pytest.raises(minidynamo.BackendCompilerFailed) as raised:
        minidynamo.optimize(planted.raises_at_cos)(steps)(torch.ones(3))
    (path,) = (tmp_path / "files").glob("repro_*.py")
    assert str(path) in raised.value.__notes__[0]
    ran = run(str(path), tmp_path)
    assert ran.returncode == 1
    assert "ValueError: no cos here" in ran.stderr


def test_a_folder_that_cannot_be_written_changes_nothing(planted: Any, tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_text("")
    with minidynamo.config.patch(repro=tmp_path / "file"), pytest.raises(minidynamo.BackendCompilerFailed, match="no cos here"):
        minidynamo.optimize(planted.raises_at_cos)(steps)(torch.ones(3))
    assert (tmp_path / "file").read_text() == ""
