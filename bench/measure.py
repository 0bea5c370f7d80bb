"""Helpers of all benchmarks: a line that names the machine, and time of repeated calls."""

import os
import pathlib
import platform
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

import minidynamo


def machine() -> str:
    """Processor, cores, and versions, for the head of every table."""
    model = platform.processor() or platform.machine()
    cpuinfo = pathlib.Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line.partition(":")[2].strip() for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        model = names[0] if names else model
    return (
        f"{model}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; Python {platform.python_version()}, "
        f"torch {torch.__version__} ({torch.get_num_threads()} thread), minidynamo {minidynamo.__version__}"
    )


def seconds(call: Callable[[], Any]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def in_turns(calls: dict[str, Callable[[], Any]], rounds: int, batch: int) -> dict[str, list[float]]:
    """Seconds of one call for each of `calls` in each round, measured in turns so that a busy machine hits all alike."""
    found: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        for _ in range(3):
            call()
    for _ in range(rounds):
        for name, call in calls.items():
            began = time.perf_counter()
            for _ in range(batch):
                call()
            found[name].append((time.perf_counter() - began) / batch)
    return found


def per_call(calls: dict[str, Callable[[], Any]], rounds: int, batch: int) -> dict[str, float]:
    """Median seconds of one call for each of `calls`."""
    return {name: statistics.median(times) for name, times in in_turns(calls, rounds, batch).items()}


def run_as_it_is(graph_module: torch.fx.GraphModule, example_inputs: list[torch.Tensor]) -> Callable[..., Any]:
    """A backend that costs nothing, so that what is timed is the front end."""
    return graph_module.forward
