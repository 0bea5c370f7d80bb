"""Captures torch's own table of operators (OpInfo) with open sizes, and calls what was captured with other sizes.

A sample of an operator is captured with `dynamic=True`; then its tensors come with other sizes, such as eager takes: each size another
one (equal ones stay equal), each by itself, large ones, 0 and 1. Results, their sizes, strides and offsets, and which of them show the
memory of an argument, have to be eager's. A call that needed no new capture counts as free.

    python tests/python/oracles/opinfo_sizes.py --most 3 --json /tmp/sizes.json [--part 1/4]
    python tests/python/oracles/opinfo_sizes.py --operators add,matmul
"""

from __future__ import annotations

import argparse
import collections
import json
import random
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
from opinfo_transforms import full_name, of_floats, operators
from torch.utils._pytree import tree_flatten

import minidynamo

# Random numbers, or uninitialized memory.
LEFT_OUT = ("bernoulli", "empty", "rand", "normal", "dropout", "multinomial", "uniform", "cauchy", "exponential", "geometric", "log_normal")


def resized(tensors: list[torch.Tensor], rng: random.Random) -> Iterator[list[torch.Tensor]]:
    """The tensors with other sizes."""
    known = sorted({size for tensor in tensors for size in tensor.shape if size > 1})

    def made(size_of: Callable[[int], int]) -> list[torch.Tensor]:
        return [torch.rand([size_of(size) for size in tensor.shape], dtype=tensor.dtype) + 0.25 for tensor in tensors]

    for most in (9, 9, 40):
        mapping = {size: rng.randint(2, most) for size in known}
        yield made(lambda size, mapping=mapping: mapping.get(size, size))  # type: ignore[misc]
    for size in known:
        yield made(lambda other, size=size: other + 3 if other == size else other)  # type: ignore[misc]
        yield made(lambda other, size=size: 2 * other if other == size else other)  # type: ignore[misc]
    yield made(lambda size: rng.randint(2, 7) if size > 1 else size)
    for size in known[:2]:
        for special in (0, 1):
            yield made(lambda other, size=size, special=special: special if other == size else other)  # type: ignore[misc]


def described(result: Any, given: list[torch.Tensor]) -> list[Any]:
    storages = {tensor.untyped_storage().data_ptr(): i for i, tensor in enumerate(given) if tensor.numel()}
    found: list[Any] = []
    for leaf in tree_flatten(result)[0]:
        if not isinstance(leaf, torch.Tensor):
            found.append(leaf)
            continue
        shown = storages.get(leaf.untyped_storage().data_ptr()) if leaf.layout == torch.strided and leaf.numel() else None
        layout = (leaf.stride(), leaf.storage_offset() if shown is not None else 0) if leaf.layout == torch.strided and leaf.numel() else ()
        found.append((tuple(leaf.shape), leaf.dtype, layout, shown, leaf.detach().clone()))
    return found


def equal(expected: list[Any], actual: list[Any]) -> str:
    """The difference; empty: none."""
    if len(expected) != len(actual):
        return f"{len(actual)} results for {len(expected)}"
    for one, other in zip(expected, actual, strict=True):
        if not isinstance(one, tuple) or not isinstance(other, tuple) or len(one) != 5:
            if repr(one) != repr(other):
                return f"{other!r} for {one!r}"
            continue
        if one[:4] != other[:4]:
            return f"{other[:4]} for {one[:4]}"
        try:
            torch.testing.assert_close(other[4], one[4], equal_nan=True, rtol=1e-4, atol=1e-5)
        except AssertionError as error:
            return str(error).splitlines()[0]
    return ""


def check(op: Any, most: int, seed: int = 0) -> list[tuple[str, str]]:
    """For each call with other sizes an outcome (free, captured anew, wrong, ...) and what there is to say."""
    outcomes: list[tuple[str, str]] = []
    for index, sample in enumerate(op.sample_inputs("cpu", torch.float32, requires_grad=False)):
        if index >= most:
            break
        made = of_floats(op.op, sample)
        if made is None:
            continue
        program, tensors = made
        rng = random.Random(seed)
        minidynamo.reset()
        captured = minidynamo.compile(program, backend="eager", fullgraph=True, dynamic=True, recompile_limit=100)
        for turn, given in enumerate([tensors, *resized(tensors, rng)]):
            try:
                torch.manual_seed(0)
                expected = described(program(*given), given)
                torch.manual_seed(0)
                if equal(expected, described(program(*given), given)):
                    break  # no use
            except Exception:  # not with such sizes
                continue
            before = minidynamo.stats()["captured"]
            try:
                torch.manual_seed(0)
                actual = described(captured(*given), given)
            except minidynamo.exceptions.Unsupported as error:
                outcomes.append(("not captured", str(error).splitlines()[0]))
                break
            except Exception as error:
                outcomes.append(("error", f"{[tuple(x.shape) for x in given]}: {type(error).__name__}: {str(error)[:200]}"))
                continue
            difference = equal(expected, actual)
            if difference:
                outcomes.append(("wrong", f"{[tuple(x.shape) for x in given]}: {difference}"))
            elif turn and all(size > 1 for x in given for size in x.shape):
                outcomes.append(("free" if minidynamo.stats()["captured"] == before else "captured anew", ""))
    return outcomes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operators", help="comma separated; all are the default")
    parser.add_argument("--most", type=int, default=2, help="samples of an operator")
    parser.add_argument("--part", default="1/1", help="k/n: every n-th operator, from the k-th on")
    parser.add_argument("--json", help="where to write all outcomes")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    part, parts = (int(number) for number in arguments.part.split("/"))
    wanted = set(arguments.operators.split(",")) if arguments.operators else None
    chosen = [op for op in operators() if (full_name(op) in wanted if wanted else not any(name in op.name for name in LEFT_OUT))]
    report: dict[str, list[tuple[str, str]]] = {}
    total: collections.Counter[str] = collections.Counter()
    for op in chosen[part - 1 :: parts]:
        try:
            report[full_name(op)] = check(op, arguments.most)
        except Exception as error:  # the sample generator's own
            report[full_name(op)] = [("no samples", str(error)[:100])]
        total.update(outcome for outcome, _ in report[full_name(op)])
        for outcome, text in report[full_name(op)]:
            if outcome in ("wrong", "error"):
                print(f"{full_name(op)}: {outcome}: {text}", flush=True)
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(report, file, indent=1)
    print(dict(total))
    free = [name for name, outcomes in report.items() if outcomes and all(outcome == "free" for outcome, _ in outcomes)]
    print(f"{len(free)} of {len(report)} operators free at all sizes")
    return bool(total["wrong"])


if __name__ == "__main__":
    sys.exit(main())
