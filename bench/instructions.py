"""Instructions that the extension spends on capturing models, on a call from the cache, on a graph break and on a plain call.

Seconds on a shared machine vary by more than what a change costs; instructions hardly do. They are counted by callgrind, in the code of
minidynamo's extension alone (what it calls in Python, torch and the C library is left out), and compared with `instructions.json`. A
change that has to cost more writes the new figures there and says why.

    python bench/instructions.py [--only hit,break] [--write] [--functions 20] [--smoke]

Needs valgrind and a C compiler. Exit code 1 if a figure has grown by more than 3 %.
"""

import argparse
import bisect
import collections
import ctypes
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

FIGURES = pathlib.Path(__file__).with_name("instructions.json")
ALLOWED = 1.03
CALLS = 200
_COSTS = tuple("0123456789+-*")  # how a line of costs begins

# The commands of a program to callgrind, as a library that Python can call.
SWITCH = """
#include <valgrind/callgrind.h>
void start(void) { CALLGRIND_START_INSTRUMENTATION; CALLGRIND_ZERO_STATS; }
void stop(const char *name) { CALLGRIND_DUMP_STATS_AT(name); CALLGRIND_STOP_INSTRUMENTATION; }
"""

Scenario = tuple[Callable[[], Any], int]
"""What is counted, and the number by which the count is divided."""


def _model(name: str) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """A function that captures a model anew, and one that calls it."""
    import models
    from measure import run_as_it_is

    import minidynamo

    case = models.build(name)
    inputs = case.inputs()
    optimized = minidynamo.compile(case.module, backend=run_as_it_is)
    return minidynamo.reset, lambda: optimized(**inputs)


def _captured(function: Callable[..., Any], *args: Any) -> Scenario:
    from measure import run_as_it_is

    import minidynamo

    optimized = minidynamo.compile(function, backend=run_as_it_is)
    for _ in range(5):
        optimized(*args)
    return lambda: _repeat(optimized, *args), CALLS


def _repeat(function: Callable[..., Any], *args: Any) -> None:
    for _ in range(CALLS):
        function(*args)


def scenarios(only: set[str]) -> Iterator[tuple[str, Scenario]]:
    """Each of `only`, or all, ready to be counted."""
    import torch

    import minidynamo
    from minidynamo._api import global_capture

    minidynamo.config.stop_where_slower = False
    x = torch.ones(3)

    def small(x: torch.Tensor) -> torch.Tensor:
        return (x + 1).sin() * 2

    def broken(x: torch.Tensor) -> torch.Tensor:
        y = (x + 1).sin()
        minidynamo.graph_break()
        return y * 2

    def plain(a: int) -> int:
        return a

    for name in ("bert", "gpt2", "llama"):
        if not only & {f"capture {name}", f"hit {name}"}:
            continue
        reset, call = _model(name)
        for _ in range(2):  # operators' metadata is remembered
            reset()
            call()
        if f"capture {name}" in only:
            reset()
            yield f"capture {name}", (call, 1)
        if f"hit {name}" in only:
            for _ in range(5):
                call()
            yield f"hit {name}", (call, 1)
    if "hit" in only:
        yield "hit", _captured(small, x)
    if "break" in only:
        yield "break", _captured(broken, x)
    if "plain call" in only:
        global_capture.start("eager")
        for _ in range(100):
            plain(1)
        yield "plain call", (lambda: _repeat(plain, 1), CALLS)
        global_capture.stop()


NAMES = ("capture bert", "capture gpt2", "capture llama", "hit bert", "hit gpt2", "hit llama", "hit", "break", "plain call")


def run(only: set[str], library: str) -> None:
    """In the process that is counted."""
    import torch

    switch = ctypes.PyDLL(library)
    torch.set_num_threads(1)
    with torch.no_grad():
        for name, (call, _) in scenarios(only):
            switch.start()
            call()
            switch.stop(name.encode())


def counts(dump: pathlib.Path) -> dict[str, int]:
    """Instructions of each function of the extension, without what it calls, from a file of callgrind's."""
    found: collections.Counter[str] = collections.Counter()
    names: dict[str, dict[str, str]] = {"ob": {}, "fn": {}}
    present = {"ob": "", "fn": ""}
    is_call = False
    for line in dump.read_text().splitlines():
        kind, is_position, rest = line.partition("=")
        if is_position and kind in ("ob", "fn", "cob", "cfn"):
            number, _, name = rest.partition(" ")
            table = names[kind[-2:]]
            table.setdefault(number, name)
            if kind in present:
                present[kind] = table[number]
        elif kind == "calls":
            is_call = True  # the next line is what the call cost
        elif line.startswith(_COSTS):
            if not is_call and "/minidynamo/_C" in present["ob"]:
                found[present["fn"]] += int(line.split()[-1])
            is_call = False
    return dict(found)


def symbols(extension: pathlib.Path) -> Callable[[str], str]:
    """The names of functions by their addresses, from the extension before it was stripped."""
    listed = subprocess.run(["nm", "-C", "--defined-only", "-n", extension], capture_output=True, text=True, check=True)
    by_address = {int(line.split()[0], 16): line.split(maxsplit=2)[2] for line in listed.stdout.splitlines()}
    addresses = sorted(by_address)

    def name(function: str) -> str:
        if not function.startswith("0x"):
            return function
        position = bisect.bisect_right(addresses, int(function.partition("'")[0], 16)) - 1
        return by_address[addresses[position]]

    return name


def measure(only: set[str]) -> dict[str, dict[str, int]]:
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        (place / "switch.c").write_text(SWITCH)
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", place / "switch.so", place / "switch.c"], check=True)
        callgrind = ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={place}/dump", "--quiet"]
        program = [sys.executable, "-W", "ignore", __file__, "--run", ",".join(sorted(only)), str(place / "switch.so")]
        environment = {**os.environ, "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"}
        done = subprocess.run([*callgrind, *program], env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr[-3000:])
        found = {}
        for dump in place.glob("dump.*"):
            text = dump.read_text()
            name = text.partition("Client Request: ")[2].partition("\n")[0]
            if name in only:
                found[name] = counts(dump)
    return {name: found[name] for name in NAMES if name in found}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(NAMES), help="comma separated")
    parser.add_argument("--write", action="store_true", help="make what is counted the figures to compare with")
    parser.add_argument("--functions", type=int, default=0, help="also the functions that cost most, so many of each scenario")
    parser.add_argument("--extension", type=pathlib.Path, metavar="FILE", help="the extension as it was built, with names of functions")
    parser.add_argument("--smoke", action="store_true", help="the same: it is quick")
    parser.add_argument("--run", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        run(set(arguments.run[0].split(",")), arguments.run[1])
        return 0
    name_of = symbols(arguments.extension) if arguments.extension else str
    divisors = dict.fromkeys(NAMES, 1) | dict.fromkeys(("hit", "break", "plain call"), CALLS)
    known: dict[str, int] = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    grown = []
    print(f"{'instructions':<16}{'known':>14}{'now':>14}{'ratio':>8}")
    for name, functions in measure(set(arguments.only.split(","))).items():
        now = sum(functions.values()) // divisors[name]
        before = known.get(name, now)
        print(f"{name:<16}{before:>14,}{now:>14,}{now / max(before, 1):>8.3f}")
        if now > before * ALLOWED:
            grown.append(name)
        known[name] = now
        by_name: collections.Counter[str] = collections.Counter()
        for function, cost in functions.items():
            by_name[name_of(function)] += cost
        for function, cost in by_name.most_common(arguments.functions):
            print(f"{'':16}{cost // divisors[name]:>14,}  {function[:120]}")
    if arguments.write:
        FIGURES.write_text(json.dumps({name: known[name] for name in NAMES if name in known}, indent=1) + "\n")
        return 0
    if grown:
        print(f"more than {ALLOWED - 1:.0%} above bench/instructions.json: {', '.join(grown)}")
    return bool(grown)


if __name__ == "__main__":
    sys.exit(main())
