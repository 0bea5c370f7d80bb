"""Memory ends at any allocation of a capture and of a call: the call is right, or MemoryError, and the next one is as ever."""

import os
import shutil
import subprocess
import sys

import pytest
import torch
from environments import ORACLES

import minidynamo

_FULL = bool(os.environ.get("MINIDYNAMO_FULL"))
_CASES = ["containers", "attributes", "classes", "closures", "generators", "breaks", "recompiles", "exceptions", "modules"]


def _search(*arguments: object, **environment: str) -> None:
    """Runs the experiments in a process of their own, which forks for each row of them."""
    run = subprocess.run(
        [sys.executable, str(ORACLES / "out_of_memory.py"), *map(str, arguments)],
        env={**os.environ, "PYTHONSAFEPATH": "1", "OMP_NUM_THREADS": "1", "MINIDYNAMO_MIRROR": "", **environment},
        cwd="/",
        capture_output=True,
        text=True,
        timeout=3600 if _FULL else 300,
    )
    assert run.returncode == 0, run.stdout + run.stderr[-2000:]
    assert "experiments" in run.stdout, run.stdout


@pytest.mark.parametrize("case", _CASES)
def test_one_allocation_of_python_fails(case: str) -> None:
    _search("--case", case, "--stride", 1 if _FULL else 197, "--hit-stride", 1 if _FULL else 7)


@pytest.mark.parametrize("case", _CASES if _FULL else ["attributes", "breaks"])
def test_all_allocations_of_python_fail_from_there(case: str) -> None:
    _search("--case", case, "--stride", 1 if _FULL else 397, "--hit-stride", 1 if _FULL else 7, "--all-from-there")


def test_nothing_was_looked_up_before() -> None:
    """Objects that are made once in a process are made in the experiment: those that failed are made at the next call."""
    _search("--cold", "--case", "containers", "--step", 0, "--stride", 7 if _FULL else 293, "--all-from-there")


@pytest.fixture(scope="module")
def failing_new(tmp_path_factory: pytest.TempPathFactory) -> str:
    compiler = shutil.which("c++")
    if not compiler:
        pytest.skip("needs a C++ compiler")
    library = tmp_path_factory.mktemp("failing_new") / "failing_new.so"
    subprocess.run([compiler, "-std=c++20", "-O2", "-shared", "-fPIC", "-o", library, ORACLES / "failing_new.cpp", "-ldl"], check=True)
    return str(library)


@pytest.mark.parametrize("case", _CASES)
def test_one_allocation_of_the_native_part_fails(case: str, failing_new: str) -> None:
    _search("--native", "--case", case, "--stride", 1 if _FULL else 97, "--hit-stride", 1, LD_PRELOAD=failing_new)


@pytest.mark.parametrize("case", _CASES if _FULL else ["containers", "breaks"])
def test_all_allocations_of_the_native_part_fail_from_there(case: str, failing_new: str) -> None:
    _search("--native", "--case", case, "--stride", 1 if _FULL else 197, "--all-from-there", LD_PRELOAD=failing_new)


@pytest.mark.skipif(
    sys.version_info >= (3, 12), reason="without memory, the compilers of CPython 3.12.1 and 3.13.0 free what they never got"
)
def test_eager_itself() -> None:
    """CPython and torch say SystemError and OutOfMemoryError for a lack of memory without any help: so both are let pass."""
    program = """
import _testcapi, sys, torch
sys.path.append(sys.argv[1])
import kept_code
seen = set()
number = torch.ones(2)
lacks = lambda: hasattr(torch.nn.Linear(2, 2), "zzz")
make = lambda: (number.sum().to(torch.float64), lacks(), torch.fx.GraphModule(torch.nn.Module(), torch.fx.Graph()))
make()
kept_code.keep_all()
for k in range(800):
    try:
        _testcapi.set_nomemory(k, k + 1)
        make()
        _testcapi.remove_mem_hooks()
    except BaseException as error:
        _testcapi.remove_mem_hooks()
        seen.add(type(error).__name__)
        if "torch._C" in str(error) and str(error).endswith("returned a result with an exception set"):
            seen.add("result and error")
print(sorted(seen))
"""
    run = subprocess.run([sys.executable, "-c", program, str(ORACLES)], capture_output=True, text=True, timeout=120)
    assert {"MemoryError", "OutOfMemoryError", "SystemError", "result and error"} <= set(eval(run.stdout)), run.stdout + run.stderr


def test_the_programs_own_memory_error_is_captured() -> None:
    """A MemoryError that the program raises is an exception like another."""

    def allocate(n: int) -> None:
        if n > 3:
            raise MemoryError("too much")

    @minidynamo.optimize("eager", fullgraph=True)
    def f(x: torch.Tensor, n: int) -> torch.Tensor:
        try:
            allocate(n)
        except MemoryError as error:
            return x + len(str(error))
        return x - 1

    x = torch.ones(2)
    assert torch.equal(f(x, 5), x + 8) and torch.equal(f(x, 1), x - 1) and torch.equal(f(x, 5), x + 8)
    assert len(minidynamo.debug.cache_entries(f)) == 2


def test_a_backend_without_memory() -> None:
    """Its MemoryError reaches the program as what it is, and the next call compiles again."""
    calls = []

    def backend(graph_module: torch.fx.GraphModule, example_inputs: list[torch.Tensor]) -> object:
        calls.append(1)
        if len(calls) == 1:
            raise MemoryError("of the backend")
        return graph_module.forward

    @minidynamo.optimize(backend)
    def f(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    x = torch.ones(2)
    with pytest.raises(MemoryError, match="of the backend"):
        f(x)
    assert torch.equal(f(x), x * 2) and torch.equal(f(x), x * 2) and len(calls) == 2


def test_reset_and_reports_without_memory() -> None:
    """They raise MemoryError or do their work; captures go on afterwards."""
    _search("--calls")
