"""1,000 captures and resets leave nothing behind: resident memory stays flat, and no Python object outlives its reset.

Captures a function with a closure, a module with a training step, and a function that cannot be captured, in turn. After a
warm-up (allocator pools, caches that are filled once) memory and live objects are compared with the end. Exits with 1 if
either grew past its limit.

    python bench/memory.py [--captures 1000] [--smoke]
"""

import argparse
import collections
import gc
import os
import pathlib
import resource
import sys

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


def live() -> collections.Counter[str]:
    while gc.collect():  # what one pass frees may free more
        pass
    return collections.Counter(f"{type(item).__module__}.{type(item).__qualname__}" for item in gc.get_objects())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--captures", type=int, default=1000, help="rounds of three captures and a reset")
    parser.add_argument("--smoke", action="store_true", help="100 rounds")
    arguments = parser.parse_args()
    rounds = 100 if arguments.smoke else arguments.captures
    torch.set_num_threads(1)
    for turn in range(max(30, rounds // 2)):
        capture_and_reset(turn)
    live()  # counting fills caches of its own
    before, start = live(), resident_mib()
    for turn in range(rounds):
        capture_and_reset(turn)
    after, end = live(), resident_mib()
    grown = {kind: after[kind] - before[kind] for kind in after if after[kind] > before[kind]}
    # The two counters themselves are among what is alive.
    objects = sum(grown.values())
    print(machine())
    print(f"\n{rounds} rounds: resident {start:.1f} -> {end:.1f} MiB, live objects {before.total()} -> {after.total()}")
    for kind, count in sorted(grown.items(), key=lambda item: -item[1])[:10]:
        print(f"  +{count} {kind}")
    leaks = objects > OBJECT_LIMIT or end - start > MEMORY_LIMIT_MIB
    print("grew" if leaks else "flat")
    return int(leaks)


if __name__ == "__main__":
    sys.exit(main())
