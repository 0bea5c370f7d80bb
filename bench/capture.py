"""Time to capture transformers' models: minidynamo beside torch.compile, one process, medians.

A capture is the first call after a reset, less the backend (which generates the graph's Python code and returns its forward)
and less one later call (the model's run). Minidynamo's is split into its phases. Both front ends have captured once before,
so imports and caches of operator metadata are warm for both; --cold shows the very first capture instead.

    python bench/capture.py [--models bert,gpt2] [--repeat 5] [--cold] [--smoke]
"""

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import models
import torch
from measure import machine, run_as_it_is, seconds

import minidynamo

PHASES = ("evaluate", "propagate", "guards", "graph_export", "codegen")


def first_call(front_end: Callable[..., Any], reset: Callable[[], None], case: models.Case) -> tuple[float, int]:
    """Seconds of the first call above a later one and without the backend, and the number of graphs."""
    graphs = 0
    in_backend = 0.0

    def backend(graph_module: torch.fx.GraphModule, example_inputs: list[torch.Tensor]) -> Any:
        nonlocal graphs, in_backend
        graphs += 1
        began = time.perf_counter()
        assert graph_module.code  # both front ends leave this to the first run: it is counted for neither
        in_backend += time.perf_counter() - began
        return run_as_it_is(graph_module, example_inputs)

    reset()
    optimized = front_end(case.module, backend=backend)
    inputs = case.inputs()
    first = seconds(lambda: optimized(**inputs))
    later = statistics.median(seconds(lambda: optimized(**inputs)) for _ in range(5))
    return first - later - in_backend, graphs


def captures(
    front_end: Callable[..., Any], reset: Callable[[], None], name: str, repeat: int, cold: bool
) -> tuple[float, int, list[Any]]:
    """Median seconds, graphs, and minidynamo's counters for each repetition."""
    case = models.build(name)
    found, counters, graphs = [], [], 0
    for turn in range(repeat if cold else repeat + 1):
        spent, graphs = first_call(front_end, reset, case)
        if turn or cold:
            found.append(spent)
            counters.append(minidynamo.stats())
    return statistics.median(found), graphs, counters


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(models.MODELS), help="comma separated")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--cold", action="store_true", help="the first capture of the process: one model, one repeat")
    parser.add_argument("--smoke", action="store_true", help="one model, one repeat")
    arguments = parser.parse_args()
    names = arguments.models.split(",")
    if arguments.cold:
        names, arguments.repeat = names[:1], 1
    if arguments.smoke:
        names, arguments.repeat = names[:1], 1
    torch.set_num_threads(1)
    print(machine())
    settings = (arguments.repeat, arguments.cold)
    with torch.no_grad():
        # One after the other: a process in which torch.compile has run has patched modules, which is not what users of
        # only one front end have.
        ours = {name: captures(minidynamo.compile, minidynamo.reset, name, *settings) for name in names}
        theirs = {name: captures(torch.compile, torch.compiler.reset, name, *settings) for name in names}
    head = "".join(f"{phase:>13}" for phase in PHASES)
    print(f"\n{'capture, ms':<12}{'torch':>10}{'minidynamo':>12}{'ratio':>8}{'graphs':>9}{'ops':>6}{'guards':>8}{head}")
    for name in names:
        mine, graphs, counters = ours[name]
        spent, their_graphs, _ = theirs[name]
        split = "".join(f"{statistics.median(each['phases'][phase] for each in counters) * 1e3:>13.2f}" for phase in PHASES)
        print(
            f"{name:<12}{spent * 1e3:>10.1f}{mine * 1e3:>12.2f}{spent / mine:>7.0f}x{f'{their_graphs}/{graphs}':>9}"
            f"{counters[-1]['operators']:>6}{counters[-1]['guards']:>8}{split}"
        )


if __name__ == "__main__":
    main()
