"""Programs of tests/programs, whose graphs are written as files: each file shows what the call showed, or says why it is missing."""

import pathlib
import subprocess
import sys

import differential
import pytest
import torch

import minidynamo

_PROGRAMS = [path for path in differential.PROGRAMS if path.parent.name in ("library", "model", "plan")][::16]
_MOST_UNWRITTEN = 1

_RUN_ALL = """
import runpy, sys, traceback
failed = 0
for path in sys.argv[1:]:
    try:
        runpy.run_path(path, run_name="__main__")
    except BaseException:
        failed += 1
        print(path)
        traceback.print_exc(file=sys.stdout)
sys.exit(failed)
"""


@pytest.mark.parametrize("backend", ["eager"])
def test_files_of_programs(backend: str, tmp_path: pathlib.Path) -> None:
    paths: list[str] = []
    unwritten: list[str] = []
    programs = [path for path in _PROGRAMS if "eager" in (differential.Header.read(path).backends or ("eager",))]
    assert len(programs) >= 20
    for path in programs:
        torch.manual_seed(0)
        with differential._loaded(path) as program:
            if not hasattr(program, "f") or not hasattr(program, "inputs"):
                continue
            try:
                report = minidynamo.repro(program.f, tmp_path / path.stem, backend=backend)(*program.inputs())
            except Exception:  # which the program raises
                continue
        paths += report.paths
        unwritten += [f"{path.stem}: {why}" for why in report.unwritten]
        assert not any(report.failures), report
    print(f"{len(paths)} files, {len(unwritten)} unwritten", *unwritten, sep="\n")
    ran = subprocess.run([sys.executable, "-c", _RUN_ALL, *paths], capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stdout[-6000:]
    assert len(paths) >= 15
    assert len(unwritten) <= _MOST_UNWRITTEN


@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.slow)])
def test_a_backend_that_needs_symbols(backend: str, tmp_path: pathlib.Path) -> None:
    fn = minidynamo.optimize(backend, dynamic=True)(lambda x: x.reshape(x.shape[0] * x.shape[1]).sin() + x.shape[0])
    report = minidynamo.repro(fn, tmp_path)(torch.ones(3, 4))
    (path,) = report.paths
    ran = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
