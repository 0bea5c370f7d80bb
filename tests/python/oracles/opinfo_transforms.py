"""Captures torch's own table of operators (OpInfo) under vmap, grad and jvp, and compares with eager functorch.

Each sample of an operator that eager functorch takes is a case: it counts as one graph if `fullgraph` captures it, and as equal if
results, and the gradients of an outer backward pass, are those of the eager run.

    python tests/python/oracles/opinfo_transforms.py --json /tmp/opinfo.json        # all operators, some minutes on two cores
    python tests/python/oracles/opinfo_transforms.py --operators add,matmul
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import json
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_unflatten

import minidynamo

TRANSFORMS = ("vmap", "grad", "jvp")
SAMPLE = ("add", "matmul", "nn.functional.layer_norm", "cumsum", "nn.functional.conv2d", "index_put", "softmax", "sort", "where")


def floats(leaves: list[Any]) -> list[int]:
    return [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor) and leaf.is_floating_point()]


def of_floats(function: Callable[..., Any], sample: Any) -> tuple[Callable[..., Any], list[torch.Tensor]] | None:
    """A function of the sample's float tensors that runs the operator, and these tensors."""
    leaves, spec = tree_flatten(((sample.input, *sample.args), sample.kwargs))
    places = floats(leaves)
    if not places or any(isinstance(leaf, torch.Tensor) and leaf.layout != torch.strided for leaf in leaves):
        return None

    def run(*tensors: torch.Tensor) -> Any:
        given = list(leaves)
        for place, tensor in zip(places, tensors, strict=True):
            given[place] = tensor
        args, kwargs = tree_unflatten(given, spec)
        return function(*args, **kwargs)

    return run, [leaves[place].detach() for place in places]


def program_for(name: str, function: Callable[..., Any], sample: Any) -> tuple[Callable[..., Any], list[torch.Tensor]] | None:
    """A function of the sample's float tensors that runs the operator under the transform, and these tensors."""
    made = of_floats(function, sample)
    if made is None:
        return None
    whole, tensors = made

    def run(*tensors: torch.Tensor) -> Any:
        return tuple(leaf for leaf in tree_flatten(whole(*tensors))[0] if isinstance(leaf, torch.Tensor))

    def loss(*tensors: torch.Tensor) -> torch.Tensor:
        total = torch.zeros((), dtype=torch.float32)
        for result in run(*tensors):
            if result.is_floating_point() or result.is_complex():
                total = total + torch.view_as_real(result).sum() if result.is_complex() else total + result.sin().sum()
        return total

    if name == "vmap":
        stacked = [torch.stack([tensor, tensor * 0.5]) for tensor in tensors]
        return lambda *given: torch.func.vmap(run, randomness="same")(*given), stacked
    if name == "grad":
        return lambda *given: torch.func.grad(loss, argnums=tuple(range(len(given))))(*given), tensors
    return lambda *given: torch.func.jvp(loss, given, given), tensors


def observed(program: Callable[..., Any], tensors: list[torch.Tensor], wants_gradient: bool) -> list[Any]:
    torch.manual_seed(0)
    given = [tensor.clone().requires_grad_(wants_gradient) for tensor in tensors]
    leaves = tree_flatten(program(*given))[0]
    outputs = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
    if outputs:
        weights = [torch.ones_like(output) for output in outputs]
        leaves = leaves + list(torch.autograd.grad(outputs, given, weights, allow_unused=True))
    return [leaf.detach() if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]


def equal(expected: list[Any], actual: list[Any]) -> bool:
    try:
        torch.testing.assert_close(actual, expected, equal_nan=True, rtol=1e-4, atol=1e-5)
    except (AssertionError, TypeError, ValueError):
        return False
    return True


def check(op: Any, name: str, most: int) -> list[tuple[str, str]]:
    """For each sample that eager functorch takes: an outcome and, where there is one, the reason."""
    outcomes: list[tuple[str, str]] = []
    for index, sample in enumerate(op.sample_inputs("cpu", torch.float32, requires_grad=False)):
        if index >= most:
            break
        made = program_for(name, op.op, sample)
        if made is None:
            continue
        program, tensors = made
        for wants_gradient in (True, False):
            try:
                expected = observed(program, tensors, wants_gradient)
                again = observed(program, tensors, wants_gradient)
                break
            except Exception:  # eager functorch does not do it
                expected = again = None
        if expected is None or not equal(expected, again):
            continue
        minidynamo.reset()
        try:
            actual = observed(minidynamo.compile(program, backend="eager", fullgraph=True), tensors, wants_gradient)
        except minidynamo.exceptions.Unsupported as error:
            outcomes.append(("not captured", str(error).splitlines()[0]))
        except Exception as error:
            outcomes.append(("error", f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"))
        else:
            outcomes.append(("equal", "") if equal(expected, actual) else ("different", ""))
        assert torch._C._functorch.get_dynamic_layer_stack_depth() == 0
    return outcomes


def unseeded(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)


def operators() -> list[Any]:
    from torch.testing._internal import common_methods_invocations
    from torch.testing._internal.common_methods_invocations import op_db

    # The table's own entries for operators that draw random numbers seed the generator and put its state back, in the middle of what
    # is captured: a matter of the table. Here `observed` seeds it, outside of what is captured, to the same effect.
    common_methods_invocations.wrapper_set_seed = unseeded
    return [op for op in op_db if torch.float32 in op.supported_dtypes("cpu")]


def full_name(op: Any) -> str:
    return op.name + (f".{op.variant_test_name}" if op.variant_test_name else "")


def run_chunk(names: set[str], most: int) -> dict[str, Any]:
    report: dict[str, Any] = {}
    for op in operators():
        if full_name(op) not in names:
            continue
        for name in TRANSFORMS:
            print(full_name(op), name, file=sys.stderr, flush=True)
            try:
                report[f"{full_name(op)} {name}"] = check(op, name, most)
            except Exception as error:  # the sample generator's own
                report[f"{full_name(op)} {name}"] = [("no samples", str(error)[:100])]
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operators", help="names, separated by commas (default: all)")
    parser.add_argument("--most", type=int, default=3, help="samples of each operator")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--part", default="1/1", help="which share of the operators: 1/4 is the first quarter")
    parser.add_argument("--json", help="where to write the report")
    parser.add_argument("--chunk", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    if arguments.chunk:
        print(json.dumps(run_chunk(set(arguments.operators.split(",")), arguments.most)))
        return
    names = arguments.operators.split(",") if arguments.operators else [full_name(op) for op in operators()]

    def run(part: list[str]) -> dict[str, Any]:
        command = [sys.executable, __file__, "--chunk", "--operators", ",".join(part), "--most", str(arguments.most)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=1500)
        except subprocess.TimeoutExpired as error:
            last = (error.stderr or b"").decode().strip().splitlines()[-1:]
            return {f"{last}": [("error", "timeout of the chunk")]}
        if done.returncode == 0:
            return dict(json.loads(done.stdout.splitlines()[-1]))
        return {f"{done.stderr.strip().splitlines()[-1:]}": [("error", f"the process ended with {done.returncode}")]}

    part, count = map(int, arguments.part.split("/"))
    names = names[part - 1 :: count]
    parts = [names[i : i + 15] for i in range(0, len(names), 15)]
    report: dict[str, Any] = {}
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for result in pool.map(run, parts):
            report.update(result)
    for name in TRANSFORMS:
        counts = collections.Counter(outcome for case, outcomes in report.items() if case.endswith(" " + name) for outcome, _ in outcomes)
        total = sum(counts.values()) - counts["no samples"]
        share = 100 * counts["equal"] / total if total else 0.0
        print(f"{name}: {share:.1f} % of {total} samples are one graph and equal; {dict(counts)}")
    reasons = collections.Counter(why for outcomes in report.values() for outcome, why in outcomes if outcome != "equal")
    for why, count in reasons.most_common(25):
        print(count, why[:160])
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(report, file, indent=1)


if __name__ == "__main__":
    main()
