"""1,000 rounds leave nothing behind: resident memory and live objects stay flat, and so do the cache entries.

* resets: a function with a closure, a module with a training step, and a function that is split, captured and reset in turn;
* redefinitions: a function in a namespace of its own, made by exec(), captured with a graph break and dropped, never reset;
* models: a model is made, captured and dropped, never reset;
* cells: two functions are defined again in the same namespace and captured, as by a notebook, never reset.

After a warm-up (allocator pools, caches that are filled once, the records of the last 1,000 captures) memory and live objects are
compared with the end. Exits with 1 if one of them grew past its limit.

    python bench/memory.py [--captures 1000] [--smoke]
"""

import argparse
import collections
import gc
import os
import pathlib
import resource
import sys
from collections.abc import Callable

import torch
from measure import machine, run_as_it_is

import minidynamo

OBJECT_LIMIT = 50
MEMORY_LIMIT_MIB = 4.0


def resident_mib() -> float:
    statm = pathlib.Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10


def capture_and_reset(turn: int) -> None:
    weight = torch.ones(4)

    def closure(x: torch.Tensor) -> list[torch.Tensor]:
        return [x * weight + turn % 7, x.sum()]

    def broken(x: torch.Tensor) -> torch.Tensor:
        return x if x.sum() > 0 else -x

    x = torch.ones(2, 4)
    module = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
    minidynamo.compile(closure, backend=run_as_it_is)(x)
    minidynamo.compile(broken, backend=run_as_it_is)(x)
    minidynamo.compile(module, backend=run_as_it_is)(x).sum().backward()
    minidynamo.reset()


REDEFINED = """
def helper(x): return x * {turn}
def f(x):
    x = helper(x) + 1
    graph_break()
    return x * 2
"""


def redefine(turn: int) -> None:
    names = {"graph_break": minidynamo.graph_break}
    exec(REDEFINED.format(turn=turn), names)
    f = names["f"]
    for _ in range(2):
        minidynamo.compile(f, backend=run_as_it_is)(torch.ones(2, 4))


def capture_and_drop_model(turn: int) -> None:
    module = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1 + turn % 3))
    minidynamo.compile(module, backend=run_as_it_is)(torch.ones(2, 4)).sum().backward()


NOTEBOOK: dict[str, object] = {}


def run_cell(turn: int) -> None:
    exec(f"def g(x): return x + {turn}\ndef f(x): return g(x) * 2", NOTEBOOK)
    minidynamo.compile(NOTEBOOK["f"], backend=run_as_it_is)(torch.ones(2, 4))


ROUNDS: dict[str, Callable[[int], None]] = {
    "resets": capture_and_reset,
    "redefinitions": redefine,
    "models": capture_and_drop_model,
    "cells": run_cell,
}
ENTRY_LIMIT = 16
KEPT_RECORDS = 1000  # kMostRecords in csrc/hook/runtime.h


def fill_records() -> None:
    """Fills `debug.captures()`, which refer weakly to their functions and drop the oldest record from then on."""
    x = torch.ones(2)
    for turn in range(KEPT_RECORDS):
        names: dict[str, object] = {}
        exec(f"def f(x): return x + {turn}", names)
        minidynamo.compile(names["f"], backend=run_as_it_is)(x)
    assert len(minidynamo.debug.captures()) == KEPT_RECORDS


def live() -> collections.Counter[str]:
    while gc.collect():  # one pass may free objects that hold others
        pass
    return collections.Counter(f"{type(item).__module__}.{type(item).__qualname__}" for item in gc.get_objects())


def grows(name: str, rounds: int) -> bool:
    minidynamo.reset()
    fill_records()
    one_round = ROUNDS[name]
    for turn in range(max(30, rounds // 2)):
        one_round(turn)
    live()  # counting fills caches of its own
    before, start = live(), resident_mib()
    for turn in range(rounds):
        one_round(rounds + turn)
    after, end = live(), resident_mib()
    entries = minidynamo.stats()["entries"]
    grown = {kind: after[kind] - before[kind] for kind in after if after[kind] > before[kind]}
    # The two counters themselves are among what is alive.
    objects = sum(grown.values())
    leaks = objects > OBJECT_LIMIT or end - start > MEMORY_LIMIT_MIB or entries > ENTRY_LIMIT
    print(
        f"\n{name}: {rounds} rounds: resident {start:.1f} -> {end:.1f} MiB, live objects {before.total()} -> {after.total()}, "
        f"{entries} entries: {'grew' if leaks else 'flat'}"
    )
    for kind, count in sorted(grown.items(), key=lambda item: -item[1])[:10]:
        print(f"  +{count} {kind}")
    return leaks


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--captures", type=int, default=1000, help="rounds of each kind")
    parser.add_argument("--smoke", action="store_true", help="100 rounds of each kind")
    parser.add_argument("--only", choices=ROUNDS, help="one kind")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print(machine())
    names = [arguments.only] if arguments.only else list(ROUNDS)
    leaks = [grows(name, 100 if arguments.smoke else arguments.captures) for name in names]
    return int(any(leaks))


if __name__ == "__main__":
    sys.exit(main())
