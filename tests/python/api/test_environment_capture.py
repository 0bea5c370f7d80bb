"""MINIDYNAMO=1 captures a program that never imports minidynamo; without it nothing at all happens at start."""

import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest
from environments import said_of_the_program, without_settings

STARTUP = pathlib.Path(__file__).parents[3] / "startup"
PACKAGE = pathlib.Path(str(importlib.util.find_spec("minidynamo").origin)).parents[1]  # type: ignore[union-attr]

PROGRAM = """
import sys
assert "torch" not in sys.modules and "minidynamo" not in sys.modules
import torch

def layer(x):
    return (x * 2 + 1).relu()

x = torch.arange(-2.0, 3.0)
for _ in range(3):
    y = layer(x)
print(y.tolist())
"""

REPORT = """
import atexit, sys
# Not in the processes that multiprocessing starts, which close their output.
@atexit.register if sys.orig_argv[-1].endswith("program.py") else lambda function: function
def report():
    module = sys.modules.get("minidynamo")
    print("minidynamo", "absent" if module is None else module.stats()["graphs"])
"""


@pytest.fixture
def site(tmp_path: pathlib.Path) -> pathlib.Path:
    """A folder whose sitecustomize processes the .pth file, as an installation's site-packages does."""
    (tmp_path / "sitecustomize.py").write_text(f"import site\nsite.addsitedir({str(STARTUP)!r})\n{REPORT}")
    return tmp_path


def run(site: pathlib.Path, program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    (site / "program.py").write_text(program)
    cleaned = without_settings()
    path = os.pathsep.join(filter(None, [str(site), str(PACKAGE), os.environ.get("PYTHONPATH", "")]))
    return subprocess.run(
        [sys.executable, str(site / "program.py")],
        capture_output=True,
        text=True,
        timeout=300,
        env={**cleaned, "PYTHONPATH": path, **environment},
    )


EXPECTED = "[0.0, 0.0, 1.0, 3.0, 5.0]"


@pytest.mark.parametrize("variable", ["TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE"])
def test_variables_that_disable_torch_compile_come_first(site: pathlib.Path, variable: str) -> None:
    done = run(site, PROGRAM, MINIDYNAMO="1", MINIDYNAMO_BACKEND="eager", **{variable: "1"})
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [EXPECTED, "minidynamo 0"]


def test_program_is_captured(site: pathlib.Path) -> None:
    done = run(site, PROGRAM, MINIDYNAMO="1", MINIDYNAMO_BACKEND="eager")
    assert done.returncode == 0, done.stderr
    result, counted = done.stdout.splitlines()
    assert result == EXPECTED
    assert int(counted.removeprefix("minidynamo ")) >= 1
    assert done.stderr == ""


def test_the_backend_is_eager_unless_one_is_named(site: pathlib.Path) -> None:
    program = PROGRAM + "from minidynamo._api.global_capture import active_backend\nprint(active_backend())\n"
    named = run(site, program, MINIDYNAMO="1", MINIDYNAMO_BACKEND="aot_eager")
    assert (named.stdout.splitlines()[1], said_of_the_program(named.stderr)) == ("aot_eager", "")
    unnamed = run(site, program, MINIDYNAMO="1")
    assert unnamed.stdout.splitlines()[1] == "eager"
    (line,) = unnamed.stderr.splitlines()
    assert "with the backend eager" in line and "MINIDYNAMO_BACKEND=inductor" in line


@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_a_worker_does_not_say_again_which_backend_there_is(site: pathlib.Path, method: str) -> None:
    program = f"""
import multiprocessing, torch

def work(x):
    return (x + 1).tolist()

if __name__ == "__main__":
    with multiprocessing.get_context({method!r}).Pool(1) as pool:
        print(pool.map(work, [torch.zeros(1)]))
"""
    done = run(site, program, MINIDYNAMO="1")
    assert "[[1.0]]" in done.stdout
    assert done.stderr.count("with the backend eager") == 1, done.stderr


@pytest.mark.parametrize("value", ["", "0", "false", "off"])
def test_nothing_happens_when_unset(site: pathlib.Path, value: str) -> None:
    done = run(site, PROGRAM, MINIDYNAMO=value)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [EXPECTED, "minidynamo absent"]


def test_torch_is_not_imported_before_the_program_does(site: pathlib.Path) -> None:
    done = run(site, "import sys; print([name in sys.modules for name in ('torch', 'minidynamo')])", MINIDYNAMO="1")
    assert done.stdout.splitlines() == ["[False, False]", "minidynamo absent"]


def test_no_trace_is_left_on_torch(site: pathlib.Path) -> None:
    program = """
import sys
before = [type(finder).__name__ for finder in sys.meta_path]
import torch
after = [type(finder).__name__ for finder in sys.meta_path]
print(before[0], "WaitForTorch" in after, type(torch.__spec__.loader).__name__, type(torch.__loader__).__name__)
"""
    done = run(site, program, MINIDYNAMO="1", MINIDYNAMO_BACKEND="eager")
    assert done.stdout.splitlines()[0] == "WaitForTorch False SourceFileLoader SourceFileLoader"


def test_program_that_imports_minidynamo_itself(site: pathlib.Path) -> None:
    program = """
import minidynamo
import torch
f = minidynamo.optimize("eager")(lambda x: x + 1)
print(f(torch.ones(2)).tolist())
"""
    done = run(site, program, MINIDYNAMO="1", MINIDYNAMO_BACKEND="eager")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "[2.0, 2.0]"


def test_unknown_backend_is_said_in_one_line(site: pathlib.Path) -> None:
    done = run(site, PROGRAM, MINIDYNAMO="1", MINIDYNAMO_BACKEND="inducter")
    assert done.returncode == 0
    assert done.stdout.splitlines()[0] == EXPECTED
    (said,) = said_of_the_program(done.stderr).splitlines()
    assert said.startswith("minidynamo: the program runs uncaptured: unknown backend 'inducter'")


def test_program_errors_are_its_own(site: pathlib.Path) -> None:
    program = "import torch\n\ndef f(x):\n    y = x + 1\n    raise ValueError('mine')\n\nf(torch.ones(2))\n"
    captured = run(site, program, MINIDYNAMO="1", MINIDYNAMO_BACKEND="eager")
    plain = run(site, program)
    assert captured.returncode == plain.returncode == 1
    assert captured.stderr == plain.stderr


def test_failing_import_of_torch_stays_as_it_is(site: pathlib.Path) -> None:
    (site / "torch.py").write_text("raise ImportError('not today')")
    program = "try:\n    import torch\nexcept ImportError as error:\n    print(error)\n"
    done = run(site, program, MINIDYNAMO="1")
    assert done.returncode == 0 and done.stdout.splitlines()[0] == "not today"
