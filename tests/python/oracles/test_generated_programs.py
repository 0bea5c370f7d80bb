"""Generated programs (program_generator.py) run the same captured as eagerly: alone, and in four threads at once.

pytest runs the same few at each time. As a script it looks for new failures, shrinks them and collects those that differ:

    python tests/python/oracles/test_generated_programs.py --examples 20000 --failures /tmp/failures
    python tests/python/oracles/test_generated_programs.py --features

A program that is found goes to tests/programs as it is, with the right number of graphs in its first line. The search runs
in processes of their own: a program that crashes one is shrunk too, by a fork for each attempt. A file is tried again with
`--check FILE`.
"""

import argparse
import collections
import contextlib
import dataclasses
import faulthandler
import functools
import gc
import hashlib
import io
import logging
import os
import pathlib
import re
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import differential
import program_generator
import pytest
import torch
from program_generator import Program
from program_shrinker import shrunk

import minidynamo
from minidynamo import _C, backends

SECONDS_PER_RUN = 60
SECONDS_PER_PROGRAM = 300  # where even a signal does not end it
EXAMPLES_PER_PROCESS = 2000
FAILURES_OF_A_KIND = 2  # that are kept and shrunk: the next would tell nothing new
DEFECTS = ("internal", "guards-fail")  # reasons to give up a frame that are always the tracer's fault
THREADS = 4
# How a program of a number is run. AOTAutograd takes longer than all the rest.
WAYS = ("eager",) * 17 + ("threads",) * 2 + ("aot_eager",)
SIZES = (3, 5, 2, 4)  # tensors' sizes, in calls behind those with their own


@dataclasses.dataclass(frozen=True)
class Failure:
    """A program that runs otherwise when it is captured.

    Attributes:
        way: one of WAYS.
        kind: the first difference without places, names and numbers; failures of one kind often have one cause.
    """

    program: Program
    way: str
    differences: tuple[str, ...]
    graphs: int

    @property
    def kind(self) -> str:
        first = self.differences[0].split("\nMismatched")[0]
        places = r"(?<=result|.lobal)[\w.<>]*(\[[^]]*\][\w.<>]*)*:|\[[^]]*\]"
        return " ".join(re.sub(places + r"|'[^']*'|\d+(\.\d+)?|#|-", "", first).split())[:200]

    @property
    def text(self) -> str:
        """The program as a file for tests/programs."""
        only = "" if self.way == "eager" else f"# way: {self.way}\n"
        body = self.program.text.replace(program_generator.BREAKS, "")
        return f'# graphs: {self.graphs}\n{only}"""Generated."""\n\n{body}'

    def __str__(self) -> str:
        return "\n".join([*self.differences, f"# {self.graphs} graphs were made, {self.way}", self.program.text])


@contextlib.contextmanager
def written(program: Program) -> Iterator[pathlib.Path]:
    """The program as a file of a name that only it has, so that nothing is remembered of another."""
    path = pathlib.Path(tempfile.gettempdir(), f"generated_{name_of(program)}_{os.getpid()}.py")
    path.write_text(program.text)
    try:
        yield path
    finally:
        path.unlink()


def name_of(program: Program) -> str:
    return hashlib.sha256(program.text.encode()).hexdigest()[:8]


@functools.cache
def ready(backend: str) -> Any:
    """A backend that has been used: what it imports at first must not be interrupted, and takes long."""
    compiler = backends.resolve(backend)
    minidynamo.compile(lambda x: x.sin(), backend=compiler)(torch.ones(1))
    return compiler


# It runs the backward pass that the program may never run; and it cannot have an input and a view of it that are both
# written to, where neither is a leaf (torch.compile fails on such a graph as well). The backward pass of a compiled graph runs
# once, also where eager's keeps no tensor that could be freed. And no result of a graph has another one in its history, so that
# torch.autograd.grad of one by the other fails.
LIMITS_OF_AOTAUTOGRAD = (
    "modified by an inplace operation",
    "outs_to_grad length",
    "backward through the graph a second time",
    "not been used in the graph",
)


def _is_history_of_view(difference: str) -> bool:
    """True if a view has a history where none is recorded, which AOTAutograd sets under torch.compile too."""
    expected, _, got = difference.partition("\n     got ")
    return expected.removeprefix("expected ").replace("leaf True", "leaf False") == got


def check(program: Program, way: str) -> Failure | None:
    """Runs the program eagerly and captured, and tells what differs.

    Nothing is compared where an operator fails in the middle of a graph, of which docs/effects.md says what is lost then; and with
    AOTAutograd where an operator or the backward pass fails eagerly, as it does after a change in place that autograd forbids: it
    saves other things, and has words and assertions of its own.
    """
    compiler = ready("aot_eager" if way == "aot_eager" else "eager")
    graphs = 0
    failed = False

    def counting(graph_module: torch.fx.GraphModule, example_inputs: list[torch.Tensor]) -> Any:
        nonlocal graphs, failed
        graphs += 1
        try:
            compiled = compiler(graph_module, example_inputs)
        except (RuntimeError, AssertionError) as error:
            failed |= any(limit in str(error) for limit in LIMITS_OF_AOTAUTOGRAD)
            raise

        @functools.wraps(compiled)
        def run(*arguments: Any) -> Any:
            nonlocal failed
            try:
                return compiled(*arguments)
            except Exception:
                failed = True
                raise

        return run

    def captured(target: Any) -> Any:
        return minidynamo.compile(target, backend=counting)

    with written(program) as path:
        code = compile(program.text, str(path), "exec")
        try:
            with differential.bounded(SECONDS_PER_RUN):
                expected = _observed(path, code, lambda target: target, way, 1)
        except (Exception, differential.Hang):  # no program: its own helpers fail
            return None
        if way == "aot_eager" and any("raises RuntimeError" in line for line in expected[0].lines):
            return None
        minidynamo.reset()
        try:
            with differential.bounded(SECONDS_PER_RUN):
                actual = _observed(path, code, captured, way, THREADS)
        except (Exception, differential.Hang) as error:
            different = [f"the captured run raises {type(error).__name__}: {error}"]
        else:
            different = [one for run in actual for one in differential.differences(expected[0], run, exact=way != "aot_eager")]
        if way == "aot_eager":
            different = [one for one in different if not _is_history_of_view(one)]
        got = [line.partition("got ")[2] or line for line in different]
        failed |= way == "aot_eager" and any(limit in text for limit in LIMITS_OF_AOTAUTOGRAD for text in got)
        different += [f"given up: {one['reason']}: {one['detail']}" for one in _C.uncaptured() if one["reason"] in DEFECTS]
        different += [f"mirror: {difference}" for difference in minidynamo.debug.mirror_differences()]
        minidynamo.reset()
    return Failure(program, way, tuple(different), graphs) if different and not failed else None


Wrap = Callable[[Any], Any]


def _observed(path: pathlib.Path, code: types.CodeType, wrap: Wrap, way: str, threads: int) -> list[differential.Observation]:
    exact = way != "aot_eager"
    if way == "threads":
        found = observed_in_threads(path, code, wrap, threads)
    else:
        found = [differential.observe(path, wrap, views=exact, backward_may_fail=exact, code=code)]
    for observation in found:  # addresses in texts of exceptions
        observation.lines[:] = [re.sub(r"(?i)0x[0-9a-f]+", "0x...", line) for line in observation.lines]
    return found


def observed_in_threads(path: pathlib.Path, code: types.CodeType, wrap: Wrap, threads: int) -> list[differential.Observation]:
    """Runs the program in threads at once, and describes each run.

    Each thread has its own load, with globals, classes and arguments of its own; the code is one, and with it what is remembered
    of it. What belongs to the process (printed text, warnings, generators) is not described.
    """
    modules = []
    for _ in range(threads):
        sys.modules["__program__"] = module = types.ModuleType("__program__")
        exec(code, vars(module))
        modules.append(module)
    portraits = [differential.Portrait(views=True) for _ in modules]
    failed: list[str] = []
    barrier = threading.Barrier(threads)

    def work(module: types.ModuleType, portrait: differential.Portrait) -> None:
        call = differential.Caller(portrait, str(path), backward_may_fail=True)
        target = wrap(module.f)
        barrier.wait()
        try:
            call.make_calls(module, target)
            call.draw_the_rest(module)
        except BaseException:
            failed.append(traceback.format_exc())

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(), minidynamo.config.patch(recompile_limit=64):
        warnings.simplefilter("ignore")
        workers = [threading.Thread(target=work, args=pair, daemon=True) for pair in zip(modules, portraits)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    sys.setswitchinterval(interval)
    del sys.modules["__program__"]
    if failed:
        raise RuntimeError("\n".join(failed))
    return [differential.Observation(portrait.lines, portrait.tensors) for portrait in portraits]


@pytest.mark.parametrize("first", range(0, 300, 30))
def test_generated_programs(first: int) -> None:
    # Some programs recurse to the limit. Finalizers of what earlier tests left would raise RecursionError if they ran there.
    gc.collect()
    for number in range(first, first + 30):
        failure = check(program_generator.program(number), WAYS[number % len(WAYS)])
        assert failure is None, str(failure)


@pytest.mark.parametrize("first", range(0, 80, 20))
def test_generated_programs_at_other_sizes(first: int) -> None:
    for number in range(first, first + 20):
        program = program_generator.with_sizes(program_generator.program(number), SIZES)
        failure = check(program, WAYS[number % len(WAYS)])
        assert failure is None, str(failure)


@pytest.mark.parametrize("way", ["eager", "threads"])
def test_a_difference_is_seen(monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    def forgetful(target: Any, backend: Any) -> Any:
        return lambda items: target(list(items))

    ready("eager")  # with the real one
    monkeypatch.setattr(minidynamo, "compile", forgetful)
    text = "KEPT = [[]]\n\ndef f(items):\n    items.append(3)\n\ndef inputs():\n    return KEPT\n\ncalls = [inputs, inputs]\n"
    failure = check(Program(text, 1), way)
    assert failure is not None and "arguments" in failure.differences[0] and text in str(failure)


def test_a_program_is_shrunk_to_what_shows_it() -> None:
    text = program_generator.program(7).text + "\n\ndef last(x):\n    if x:\n        return [x, len(str(x) + 'needle'), 5]\n"
    assert shrunk(text, lambda smaller: "needle" in smaller and "def last" in smaller) == "def last(x):\n    return 'needle'\n"


# The search


class Search:
    """Looks for failures from one seed, and writes each kind that is not known yet into a folder."""

    def __init__(self, seed: int, examples: int, folder: pathlib.Path) -> None:
        self.numbers = range(seed * 1_000_000, seed * 1_000_000 + examples)
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.kinds = folder / "kinds.txt"
        self.known = collections.Counter(self.kinds.read_text().splitlines() if self.kinds.exists() else ())
        self.running = folder / f"running_{seed}.py"

    def run(self) -> None:
        for number in self.numbers:
            way = WAYS[number % len(WAYS)]
            program = program_generator.program(number)
            if number % 3 == 0:
                program = program_generator.with_sizes(program, SIZES)
            failure = self.checked(program, way)
            if failure is None or self.known[failure.kind] >= FAILURES_OF_A_KIND:
                continue
            self.found(failure, number)
        self.running.unlink(missing_ok=True)

    def checked(self, program: Program, way: str) -> Failure | None:
        self.running.write_text(f"# way: {way}\n{program.text}")
        faulthandler.dump_traceback_later(SECONDS_PER_PROGRAM, exit=True)
        try:
            return check(program, way)
        finally:
            faulthandler.cancel_dump_traceback_later()

    def found(self, failure: Failure, number: int) -> None:
        self.known[failure.kind] += 1
        with self.kinds.open("a") as kinds:
            kinds.write(failure.kind + "\n")
        last = failure

        def is_of_its_kind(text: str) -> bool:
            nonlocal last
            smaller = self.checked(Program(text, 0), failure.way)
            if smaller is None or smaller.kind != failure.kind:
                return False
            last = smaller
            return True

        shrunk(failure.program.text, is_of_its_kind)
        path = self.folder / f"generated_{name_of(last.program)}.py"
        path.write_text(last.text)
        path.with_suffix(".txt").write_text(str(last))
        print(f"\n{path}, program {number}\n  {last.differences[0]}", flush=True)


def shrunk_in_forks(program: Program, way: str) -> Program:
    """The program less all without which a process that checks it crashes too."""

    def crashes(text: str) -> bool:
        child = os.fork()
        if child == 0:
            faulthandler.disable()
            os.close(2)
            resource.setrlimit(resource.RLIMIT_CPU, (SECONDS_PER_PROGRAM, SECONDS_PER_PROGRAM))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            with contextlib.suppress(BaseException):
                check(Program(text, 0), way)
            os._exit(0)
        return os.waitpid(child, 0)[1] != 0

    ready("aot_eager" if way == "aot_eager" else "eager")  # once, here
    return Program(shrunk(program.text, crashes), 0)


def search(seeds: list[int], examples: int, folder: pathlib.Path) -> int:
    """Runs a process for each seed. Returns how many failures the folder holds then."""
    folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    for index, seed in enumerate(seeds):
        command = [sys.executable, __file__, "--one-seed", str(seed), "--examples", str(examples), "--failures", str(folder)]
        command += ["--mirror"] * minidynamo.config.mirror
        code = subprocess.run(command).returncode
        running = folder / f"running_{seed}.py"
        if code != 0:
            print(f"\nseed {seed}: the process ended with {signal.Signals(-code).name if code < 0 else code}", flush=True)
        if code != 0 and running.exists():
            crash = running.rename(folder / f"crash_{seed}.py")
            print(f"{crash}", flush=True)
            subprocess.run([sys.executable, __file__, "--shrink", str(crash)])
        done = (index + 1) * examples
        failures = len(list(folder.glob("*.py")))
        print(f"\r{done} programs, {done / (time.monotonic() - began):.0f} a second, {failures} failures", end="", flush=True)
    print()
    return len(list(folder.glob("*.py")))


# The traits of the programs


@dataclasses.dataclass
class Features:
    """Facts about one program's eager run."""

    statements: int
    executed: int = 0
    breaks: int = 0
    exceptions: bool = False
    effects: bool = False


def features(program: Program) -> Features:
    """Runs a program eagerly, twice, and measures the second run; the two runs must be equal."""
    found = Features(program.statements)
    with written(program) as path:
        marked = {number for number, line in enumerate(program.text.split("\n"), 1) if line.endswith(program_generator.BREAKS)}

        def lines(frame: types.FrameType, event: str, argument: Any) -> Any:
            if frame.f_code.co_filename != str(path):
                return None
            if event == "line":
                found.executed += 1
                found.breaks += frame.f_lineno in marked
            return lines

        def measured(target: Any) -> Any:
            def call(*arguments: Any) -> Any:
                before = seen(arguments, target.__globals__)
                sys.settrace(lines)
                try:
                    return target(*arguments)
                except Exception:
                    found.exceptions = True
                    raise
                finally:
                    sys.settrace(None)
                    found.effects |= seen(arguments, target.__globals__) != before

            return call

        first = differential.observe(path, lambda target: target, backward_may_fail=True)
        second = differential.observe(path, measured, backward_may_fail=True)
        # The wrapper adds a frame of another file only, so that everything else must be equal.
        different = differential.differences(first, second, exact=True)
        assert not different, "\n".join([*different, program.text])
    return found


def seen(arguments: tuple[Any, ...], variables: dict[str, Any]) -> tuple[list[str], list[Any]]:
    portrait = differential.Portrait(views=True)
    portrait.draw("arguments", arguments)
    for name in ("TOTAL", "HISTORY", "CACHE"):
        portrait.draw(name, variables.get(name))
    return portrait.lines, [tensor.tolist() for tensor in portrait.tensors]


def print_features(examples: int) -> None:
    found = [features(program_generator.program(number)) for number in range(examples)]

    def share(holds: Callable[[Features], bool]) -> str:
        return f"{sum(map(holds, found)) / len(found):.0%}"

    print(f"{len(found)} programs ran twice and were equal")
    for name in ("statements", "executed", "breaks"):
        quartiles = statistics.quantiles([getattr(one, name) for one in found])
        print(f"{name}: quartiles {', '.join(f'{quartile:.0f}' for quartile in quartiles)}")
    print(f"with a break executed: {share(lambda one: one.breaks > 0)}, with several: {share(lambda one: one.breaks > 1)}")
    print(f"with an exception that escapes: {share(lambda one: one.exceptions)}, with effects: {share(lambda one: one.effects)}")


def main() -> int:
    parser = argparse.ArgumentParser(description="Looks for programs that run otherwise when they are captured.")
    parser.add_argument("--examples", type=int, default=int(os.environ.get("MINIDYNAMO_EXAMPLES", "2000")), help="programs to try")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--failures", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir(), "generated_failures"))
    parser.add_argument("--features", action="store_true", help="run eagerly only, twice, and say what the programs are like")
    parser.add_argument("--mirror", action="store_true", help="make every check of guards twice, the fast way and the plain slow one")
    parser.add_argument("--one-seed", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--check", type=pathlib.Path, metavar="FILE", help="run one program, and tell what differs")
    parser.add_argument("--shrink", type=pathlib.Path, metavar="FILE", help="take from a program what is not needed for a crash")
    options = parser.parse_args()
    torch.set_num_threads(1)
    minidynamo.config.mirror = options.mirror
    logging.getLogger("minidynamo").setLevel(logging.ERROR)  # the warning at the recompile limit
    if options.check or options.shrink:
        text = (options.check or options.shrink).read_text()
        declared = re.search(r"^# way: (\w+)$", text, re.MULTILINE)
        program, way = Program(text, 0), declared[1] if declared else "eager"
        if options.shrink:
            options.shrink.write_text(f"# way: {way}\n{shrunk_in_forks(program, way).text}")
            return 0
        failure = check(program, way)
        print(failure or "no difference")
        return 0 if failure is None else 1
    if options.features:
        print_features(options.examples)
        return 0
    if options.one_seed is not None:
        Search(options.one_seed, options.examples, options.failures).run()
        return 0
    processes = -(-options.examples // EXAMPLES_PER_PROCESS)
    seeds = [options.first_seed + index for index in range(processes)]
    return 1 if search(seeds, -(-options.examples // processes), options.failures) else 0


if __name__ == "__main__":
    sys.exit(main())
