"""Generated programs (program_generator.py) run the same captured as eagerly.

pytest runs the same few at each time. As a script it looks for new failures, shrinks them and collects those that differ:

    python tests/python/test_generated_programs.py --examples 20000 --failures /tmp/failures
    python tests/python/test_generated_programs.py --features

A program that is found goes to tests/programs as it is, with the right number of graphs in its first line. The search runs
in processes of their own: a program that crashes one is shrunk too, by a fork for each attempt. A file is tried again with
`--check FILE`.
"""

import argparse
import ast
import collections
import contextlib
import dataclasses
import faulthandler
import hashlib
import os
import pathlib
import re
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import types
from collections.abc import Callable, Iterator
from typing import Any

import differential
import hypothesis
import hypothesis.strategies as st
import program_generator
import pytest
import torch
from program_generator import Program

import minidynamo
from minidynamo import _C, backends

SECONDS_PER_RUN = 10
SECONDS_PER_PROGRAM = 60  # where even a signal does not end it
EXAMPLES_PER_PROCESS = 1000
FAILURES_OF_A_KIND = 3  # that are kept and shrunk: the next would tell nothing new
DEFECTS = ("internal", "guards-fail")  # reasons to give up a frame that are always the tracer's fault

settings = hypothesis.settings(
    deadline=None,
    database=None,
    print_blob=False,
    suppress_health_check=list(hypothesis.HealthCheck),
    phases=[hypothesis.Phase.generate, hypothesis.Phase.shrink],
)
# AOTAutograd takes longer than all the rest.
backend_names = st.integers(0, 9).map(lambda number: "aot_eager" if number == 9 else "eager")


@dataclasses.dataclass(frozen=True)
class Failure:
    """A program that runs otherwise when it is captured.

    Attributes:
        kind: the first difference without places, names and numbers; failures of one kind often have one cause.
    """

    program: Program
    backend: str
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
        only = "# backends: aot_eager\n" if self.backend == "aot_eager" else ""
        body = self.program.text.replace(program_generator.BREAKS, "")
        return f'# graphs: {self.graphs}\n{only}"""Generated."""\n\n{body}'

    def __str__(self) -> str:
        return "\n".join([*self.differences, f"# {self.graphs} graphs were made, with backend {self.backend}", self.program.text])


@contextlib.contextmanager
def written(program: Program) -> Iterator[pathlib.Path]:
    """The program as a file of a name that only it has, so that nothing is remembered of another; no bytecode is kept."""
    kept, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, f"generated_{name_of(program)}.py")
        path.write_text(program.text)
        try:
            yield path
        finally:
            sys.dont_write_bytecode = kept


def name_of(program: Program) -> str:
    return hashlib.sha256(program.text.encode()).hexdigest()[:8]


def check(program: Program, backend: str) -> Failure | None:
    """Runs the program eagerly and captured, and tells what differs.

    Programs are rejected (as hypothesis has it) whose backward pass fails eagerly, as it does after a change in place of
    something that autograd saved: nothing is compared after that.
    """
    exact = backend == "eager"
    compiler = backends.resolve(backend)
    graphs = 0

    def counting(graph_module: torch.fx.GraphModule, example_inputs: list[torch.Tensor]) -> Any:
        nonlocal graphs
        graphs += 1
        return compiler(graph_module, example_inputs)

    def captured(target: Any) -> Any:
        return minidynamo.compile(target, backend=counting)

    with written(program) as path:
        try:
            with differential.bounded(SECONDS_PER_RUN):
                expected = differential.observe(path, lambda target: target, views=exact)
        except (RuntimeError, differential.Hang):
            hypothesis.reject()
        minidynamo.reset()
        try:
            with differential.bounded(SECONDS_PER_RUN):
                actual = differential.observe(path, captured, views=exact)
            different = differential.differences(expected, actual, exact=exact)
        except (Exception, differential.Hang) as error:
            different = [f"the captured run raises {type(error).__name__}: {error}"]
        different += [f"given up: {one['reason']}: {one['detail']}" for one in _C.uncaptured() if one["reason"] in DEFECTS]
        minidynamo.reset()
    return Failure(program, backend, tuple(different), graphs) if different else None


@hypothesis.settings(settings, max_examples=300, derandomize=True)
@hypothesis.given(program_generator.programs(), backend_names)
def test_generated_programs(program: Program, backend: str) -> None:
    failure = check(program, backend)
    assert failure is None, str(failure)


def test_a_difference_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetful(target: Any, backend: Any) -> Any:
        return lambda x, y, items, table, box: target(x, y, list(items), table, box)

    monkeypatch.setattr(minidynamo, "compile", forgetful)
    text = "def f(x, y, items, table, box):\n    items.append(3)\n\ndef inputs():\n    return 1, 2, [], {}, None\n"
    failure = check(Program(text, 1), "eager")
    assert failure is not None and "arguments" in failure.differences[0] and text in str(failure)


# The search


class Search:
    """Looks for failures from one seed, and writes each kind that is not known yet into a folder."""

    def __init__(self, seed: int, examples: int, folder: pathlib.Path) -> None:
        self.seed = seed
        self.examples = examples
        self.folder = folder
        self.kinds = folder / "kinds.txt"
        self.known = collections.Counter(self.kinds.read_text().splitlines() if self.kinds.exists() else ())
        self.running = folder / f"running_{seed}.py"
        self.done = 0
        self.found: Failure | None = None

    def run(self) -> None:
        while self.done < self.examples:
            self.found = None
            left = hypothesis.settings(settings, max_examples=self.examples - self.done)
            search = left(hypothesis.given(program_generator.programs(), backend_names)(self.one))
            try:
                hypothesis.seed(self.seed * 1_000_000 + self.done)(search)()
            except (AssertionError, hypothesis.errors.Flaky):
                self.save()
            else:
                break
        self.running.unlink(missing_ok=True)

    def one(self, program: Program, backend: str) -> None:
        if self.found is None:  # else it is being shrunk
            self.done += 1
        self.running.write_text(f"# backends: {backend}\n{program.text}")
        faulthandler.dump_traceback_later(SECONDS_PER_PROGRAM, exit=True)
        try:
            failure = check(program, backend)
        finally:
            faulthandler.cancel_dump_traceback_later()
        if failure is None or self.known[failure.kind] >= FAILURES_OF_A_KIND:
            return
        if self.found is None or failure.kind == self.found.kind:
            self.found = failure
            raise AssertionError(failure.kind)

    def save(self) -> None:
        assert self.found is not None
        self.known[self.found.kind] += 1
        with self.kinds.open("a") as kinds:
            kinds.write(self.found.kind + "\n")
        path = self.folder / f"generated_{name_of(self.found.program)}.py"
        path.write_text(self.found.text)
        path.with_suffix(".txt").write_text(str(self.found))
        print(f"\n{path}\n  {self.found.differences[0]}", flush=True)


def shrunk_in_forks(program: Program, backend: str) -> Program:
    """The program less all statements without which a process that checks it crashes too."""

    def crashes(text: str) -> bool:
        child = os.fork()
        if child == 0:
            faulthandler.disable()
            os.close(2)
            resource.setrlimit(resource.RLIMIT_CPU, (SECONDS_PER_PROGRAM, SECONDS_PER_PROGRAM))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            with contextlib.suppress(BaseException):
                check(Program(text, 0), backend)
            os._exit(0)
        return os.waitpid(child, 0)[1] != 0

    minidynamo.compile(lambda x: x.sin(), backend="eager")(torch.ones(1))  # what the first capture loads is loaded once, here
    text, before = program.text, ""
    while text != before:
        before, index = text, 0
        while index < len(places := removable(ast.parse(text))):
            smaller = without(text, *places[index])
            if crashes(smaller):
                text = smaller
            else:
                index += 1
    return Program(text, 0)


def blocks(tree: ast.Module) -> list[list[ast.stmt]]:
    held = (getattr(node, field, None) for node in ast.walk(tree) for field in ("body", "orelse", "finalbody", "handlers"))
    return [block for block in held if isinstance(block, list)]


def removable(tree: ast.Module) -> list[tuple[int, int, bool]]:
    """For `without`: every statement of the program, outermost first; one that holds others also to be replaced by them."""
    return [
        (block, number, whole)
        for block, statements in enumerate(blocks(tree))
        for number, statement in enumerate(statements)
        for whole in (True, False)
        if (whole or isinstance(getattr(statement, "body", None), list)) and not isinstance(statement, ast.Pass)
    ]


def without(text: str, block: int, number: int, whole: bool) -> str:
    """The program without the statement at that place, or with what it holds instead of it."""
    tree = ast.parse(text)
    statements = blocks(tree)[block]
    held = [] if whole else statements[number].body  # type: ignore[attr-defined]
    statements[number : number + 1] = held or ([] if len(statements) > 1 else [ast.Pass()])
    return ast.unparse(tree) + "\n"


def search(seeds: list[int], examples: int, folder: pathlib.Path) -> int:
    """Runs a process for each seed. Returns how many failures the folder holds then."""
    folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    for index, seed in enumerate(seeds):
        command = [sys.executable, __file__, "--one-seed", str(seed), "--examples", str(examples), "--failures", str(folder)]
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


# What the programs are like


@dataclasses.dataclass
class Features:
    """What happened in one program's eager run."""

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

        first = differential.observe(path, lambda target: target)
        second = differential.observe(path, measured)
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
    found: list[Features] = []
    rejected = 0

    def one(program: Program) -> None:
        nonlocal rejected
        try:
            found.append(features(program))
        except RuntimeError:
            rejected += 1

    hypothesis.seed(0)(hypothesis.settings(settings, max_examples=examples)(hypothesis.given(program_generator.programs())(one)))()

    def share(holds: Callable[[Features], bool]) -> str:
        return f"{sum(map(holds, found)) / len(found):.0%}"

    print(f"{len(found)} programs ran twice and were equal; {rejected} were rejected, their backward pass fails")
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
    parser.add_argument("--one-seed", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--check", type=pathlib.Path, metavar="FILE", help="run one program, and tell what differs")
    parser.add_argument("--shrink", type=pathlib.Path, metavar="FILE", help="take from a program what is not needed for a crash")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.check or options.shrink:
        text = (options.check or options.shrink).read_text()
        program, backend = Program(text, 0), "aot_eager" if "# backends: aot_eager" in text else "eager"
        if options.shrink:
            options.shrink.write_text(shrunk_in_forks(program, backend).text)
            return 0
        failure = check(program, backend)
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
