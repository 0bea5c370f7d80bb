"""config.stress, and a part of CPython's own test suite under it.

The whole suite: `python tests/python/oracles/cpython_suite.py`; see docs/testing.md.
"""

import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import cpython_suite
import pytest

import minidynamo

STARTUP = Path(__file__).parents[3] / "startup"


@pytest.fixture(autouse=True)
def no_stress_afterwards() -> Iterator[None]:
    yield
    minidynamo.config.stress = False
    minidynamo.config.stress_breaks = 0
    minidynamo.reset()


def fibonacci(n: int) -> int:
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def collatz(n: int) -> list[int]:
    seen = [n]
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        seen.append(n)
    return seen


def test_frames_without_tensors_are_captured() -> None:
    minidynamo.config.stress = True
    found = fibonacci(10), collatz(7)
    minidynamo.config.stress = False
    assert found == (55, [7, 22, 11, 34, 17, 52, 26, 13, 40, 20, 10, 5, 16, 8, 4, 2, 1])
    assert minidynamo.debug.cache_entries(fibonacci) and minidynamo.debug.cache_entries(collatz)
    assert minidynamo.stats()["graphs"] <= 1  # that of the capture that imports what captures need


def test_the_collector_is_left_as_it_was() -> None:
    at_start = gc.get_freeze_count()  # 3.12's collector freezes what is immortal
    with minidynamo.config.patch(stress=True):
        assert gc.get_freeze_count() > at_start + 10_000
    assert gc.get_freeze_count() <= at_start

    gc.freeze()  # the program's own
    try:
        with minidynamo.config.patch(stress=True):
            pass
        assert gc.get_freeze_count() > at_start + 10_000
    finally:
        gc.unfreeze()


def test_nothing_is_captured_without_it() -> None:
    assert fibonacci(5) == 5
    assert not minidynamo.debug.cache_entries(fibonacci)


@pytest.mark.parametrize("every", [1, 2, 3, 7])
@pytest.mark.parametrize("seed", [0, 1])
def test_breaks_at_every_nth_instruction(every: int, seed: int) -> None:
    expected = collatz(27), fibonacci(7)
    with minidynamo.config.patch(stress_breaks=every, stress_seed=seed, stress=True):
        found = collatz(27), fibonacci(7)
    assert found == expected
    assert minidynamo._C.resume_codes(collatz.__code__)


def test_tools_that_watch_the_thread_switch_capture_off() -> None:
    lines = []

    def watch(frame: object, event: str, argument: object) -> object:
        lines.append(event)
        return watch

    minidynamo.config.stress = True
    sys.settrace(watch)  # type: ignore[arg-type]
    try:
        value = collatz(3)
    finally:
        sys.settrace(None)
    minidynamo.config.stress = False
    assert value == [3, 10, 5, 16, 8, 4, 2, 1]
    assert lines.count("line") > 10
    assert not minidynamo.debug.cache_entries(collatz)

    calls = []
    optimized = minidynamo.optimize("eager")(collatz)
    sys.setprofile(lambda frame, event, argument: calls.append(event))
    try:
        optimized(3)
    finally:
        sys.setprofile(None)
    assert "call" in calls and not minidynamo.debug.cache_entries(optimized)
    optimized(3)
    assert minidynamo.debug.cache_entries(optimized)


PROGRAM = """
def f(n):
    return [i * i for i in range(n)]

print(f(4))
import minidynamo
print(len(minidynamo.debug.cache_entries(f)))
"""


@pytest.mark.parametrize("breaks", ["0", "2"])
def test_environment_alone(tmp_path: Path, breaks: str) -> None:
    (tmp_path / "sitecustomize.py").write_text(f"import site\nsite.addsitedir({str(STARTUP)!r})\n")
    (tmp_path / "program.py").write_text(PROGRAM)
    package = Path(str(minidynamo.__file__)).parents[1]
    run = subprocess.run(
        [sys.executable, str(tmp_path / "program.py")],
        capture_output=True,
        text=True,
        timeout=300,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(tmp_path), str(package)]),
            "MINIDYNAMO": "1",
            "MINIDYNAMO_STRESS": "1",
            "MINIDYNAMO_STRESS_BREAKS": breaks,
        },
    )
    assert run.returncode == 0, run.stderr
    values, entries = run.stdout.split("\n")[:2]
    assert values == "[0, 1, 4, 9]" and int(entries) == 1


SUBINTERPRETER = """
try:
    import _interpreters as interpreters  # CPython 3.13 and later
except ImportError:
    import _xxsubinterpreters as interpreters

def f(n):
    return n + 1

f(3)
number = interpreters.create()
interpreters.run_string(number, '''
def f(n):
    return n + 2

print(f(3))
try:
    import minidynamo
except ImportError as error:
    print(error)
''')
interpreters.destroy(number)
print(f(4))
"""


def test_subinterpreters_run_uncaptured(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(SUBINTERPRETER)
    run = subprocess.run(
        [sys.executable, "-u", str(tmp_path / "program.py")],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "MINIDYNAMO": "1", "MINIDYNAMO_STRESS": "1"},
    )
    refusal = "minidynamo needs the main interpreter of the process, as torch does, and this is a subinterpreter."
    assert run.returncode == 0, run.stderr
    assert run.stdout == f"5\n{refusal}\n5\n"
    assert set(run.stderr.splitlines()) == {f"minidynamo: the program runs uncaptured: {refusal}"}


@pytest.mark.parametrize("module", cpython_suite.MODULES if os.environ.get("MINIDYNAMO_FULL") else cpython_suite.SMALL)
def test_cpython_suite(module: str) -> None:
    compared = cpython_suite.compare(module)
    assert compared.plain.results or compared.plain.exit_status == 0, compared.plain.output
    assert compared.differences(cpython_suite.EXEMPT) == [], compared.captured.output[-4000:]


FIRST_CACHED_PROPERTY = """
import functools, os, sys
import minidynamo

class Pages:
    @functools.cached_property
    def count(self):
        return 3

def f(pages):
    return pages.count + pages.count

minidynamo.config.stress = True
for every in range(1, 12):
    child = os.fork()
    if not child:
        with minidynamo.config.patch(stress_breaks=every):
            os._exit(minidynamo.compile(f)(Pages()) != 6)
    status = os.waitpid(child, 0)[1]
    assert not status, (every, status)
"""


def test_what_the_tracer_makes_for_itself_is_no_part_of_a_trace() -> None:
    # A trace that comes to a cached_property first makes one, by Python code, to see how they are made.
    subprocess.run([sys.executable, "-P", "-c", FIRST_CACHED_PROPERTY], check=True, timeout=120)
