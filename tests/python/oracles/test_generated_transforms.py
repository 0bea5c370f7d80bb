"""Generated programs that nest transforms (transform_generator.py) give the same captured as eagerly: results and gradients.

pytest runs the same few at each time. As a script it looks for new differences, in processes of some programs each:

    python tests/python/oracles/test_generated_transforms.py --first 0 --examples 5000 --failures /tmp/failures
    python tests/python/oracles/test_generated_transforms.py --show 17
"""

from __future__ import annotations

import argparse
import collections
import json
import pathlib
import subprocess
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
import transform_generator
from torch.utils._pytree import tree_leaves
from transform_generator import TransformProgram

import minidynamo

BACKENDS = ("eager", "eager", "aot_eager")  # for programs by their numbers
CALLS = 4  # the last two are with other sizes
PROGRAMS_PER_PROCESS = 100


def arguments(program: TransformProgram, call: int) -> list[torch.Tensor]:
    """The arguments of one call: every other one's need gradients, as far as they have any dimension."""
    generator = torch.Generator().manual_seed(call)
    sizes = transform_generator.sizes_of(call)
    given = [torch.randn([sizes[one] for one in shape], dtype=torch.float64, generator=generator) for shape in program.shapes]
    return [one.requires_grad_(call != 1) for one in given]


def observed(program: TransformProgram, function: Callable[..., Any], call: int) -> list[Any]:
    """The results and gradients of a call, and its arguments afterwards."""
    given = arguments(program, call)
    torch.manual_seed(call)
    results = tree_leaves(function(*given))
    differentiable = [one for one in results if isinstance(one, torch.Tensor) and one.requires_grad]
    gradients: list[Any] = []
    if differentiable:
        total = torch.stack([one.cos().sum() for one in differentiable]).sum()
        if total.requires_grad:
            gradients = list(torch.autograd.grad(total, given, allow_unused=True))
    described = [one.detach() if isinstance(one, torch.Tensor) else one for one in results]
    return [[one.requires_grad for one in results if isinstance(one, torch.Tensor)], described, gradients, [one.detach() for one in given]]


def difference(expected: Any, actual: Any) -> str | None:
    if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        return next((found for pair in zip(expected, actual) if (found := difference(*pair))), None)
    if isinstance(expected, torch.Tensor) and isinstance(actual, torch.Tensor):
        try:
            torch.testing.assert_close(actual, expected, equal_nan=True, rtol=1e-7, atol=1e-9)
        except AssertionError as error:
            return " ".join(str(error).split())
        return None
    return None if expected is actual or (isinstance(expected, bool) and expected == actual) else f"{actual} instead of {expected}"


def fails_in_torch_compile(program: TransformProgram, function: Callable[..., Any], call: int) -> bool:
    """True if AOTAutograd does not take a program from torch's own front end either: changes in place within transforms, mostly."""
    torch._dynamo.reset()
    try:
        observed(program, torch.compile(function, backend="aot_eager"), call)
    except Exception:
        return True
    return False


def check(program: TransformProgram, backend: str) -> tuple[str, str]:
    """The outcome of a program ("equal", "no program", "different"), and the difference or why it was cut."""
    sys.modules["__program__"] = module = types.ModuleType("__program__")  # which torch.compile asks for within torch.cond
    space = vars(module)
    exec(compile(program.text, "<generated>", "exec"), space)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = [observed(program, space["f"], call) for call in range(CALLS)]
            again = [observed(program, space["f"], call) for call in range(CALLS)]
        except Exception as error:
            return "no program", f"{type(error).__name__}: {error}"
        if difference(expected, again):
            return "no program", "eager runs differ"
        minidynamo.reset()
        captured = minidynamo.compile(space["f"], backend=backend)
        for call in range(CALLS):
            try:
                found = difference(expected[call], observed(program, captured, call))
            except Exception as error:
                found = f"{type(error).__name__}: {error}"
                if backend == "aot_eager" and fails_in_torch_compile(program, space["f"], call):
                    return "no program", f"AOTAutograd refuses it: {found}"
            if found:
                return "different", f"call {call}: {found}"
        records = [*minidynamo.debug.graph_breaks(), *minidynamo.debug.uncaptured()]
    if torch._C._functorch.get_dynamic_layer_stack_depth():
        return "different", "a level is left"
    return "equal", str(records[0].detail) if records else ""


@pytest.mark.parametrize("first", range(0, 40, 20))
def test_generated_transforms(first: int) -> None:
    outcomes = collections.Counter[str]()
    for number in range(first, first + 20):
        program = transform_generator.program(number)
        outcome, why = check(program, BACKENDS[number % len(BACKENDS)])
        assert outcome != "different", f"{why}\n{program.text}"
        outcomes[outcome] += 1
    assert outcomes["equal"] > 10


def test_a_difference_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minidynamo, "compile", lambda function, backend: lambda *given: function(*given) * 1.001)
    assert any(check(transform_generator.program(number), "eager")[0] == "different" for number in range(10))


def run_chunk(first: int, count: int, running: pathlib.Path) -> dict[str, Any]:
    report: dict[str, Any] = {}
    for number in range(first, first + count):
        running.write_text(str(number))
        report[str(number)] = check(transform_generator.program(number), BACKENDS[number % len(BACKENDS)])
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=0, help="the number of the first program")
    parser.add_argument("--examples", type=int, default=100, help="how many programs")
    parser.add_argument("--failures", type=pathlib.Path, default=pathlib.Path("/tmp/generated_transforms"))
    parser.add_argument("--show", type=int, help="prints a program, and what becomes of it")
    parser.add_argument("--chunk", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.show is not None:
        program = transform_generator.program(given.show)
        print(program.text.removeprefix(transform_generator.HEAD), program.shapes)
        for backend in sorted(set(BACKENDS)):
            print(backend, *check(program, backend))
        return
    given.failures.mkdir(parents=True, exist_ok=True)
    running = given.failures / f"running_{given.first}"
    if given.chunk:
        print(json.dumps(run_chunk(given.first, given.examples, running)))
        return
    outcomes, cuts = collections.Counter[str](), collections.Counter[str]()
    for first in range(given.first, given.first + given.examples, PROGRAMS_PER_PROCESS):
        count = min(PROGRAMS_PER_PROCESS, given.first + given.examples - first)
        command = [sys.executable, __file__, "--chunk", "--first", str(first), "--examples", str(count), "--failures", str(given.failures)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            at = (given.failures / f"running_{first}").read_text()
            print(f"the process ended with {done.returncode} at program {at}: {done.stderr[-500:]}", flush=True)
            outcomes["crash"] += 1
            continue
        (given.failures / f"running_{first}").unlink(missing_ok=True)
        for number, (outcome, why) in json.loads(done.stdout.splitlines()[-1]).items():
            outcomes[outcome] += 1
            if outcome == "different":
                print(f"program {number}: {why[:300]}", flush=True)
                text = transform_generator.program(int(number)).text
                (given.failures / f"program_{number}.py").write_text(f"# {why}\n{text}")
            elif why:
                cuts[f"{outcome}: {why[:110]}"] += 1
        print(f"{first + count - given.first} programs: {dict(outcomes)}", flush=True)
    for why, times in cuts.most_common(20):
        print(times, why)


if __name__ == "__main__":
    main()
