"""Steps of optimizers beside torch.compile in one process: CPU milliseconds of the front end, and microseconds of a later step.

    python bench/optimizers.py [--tensors 60] [--rounds 7] [--backend eager|inductor] [--only AdamW ...] [--smoke]

The front end is what the captures take with a backend that only runs the graph (process CPU time of the first three steps of a new
optimizer, less three later ones). A later step is measured in turns: eager, captured, and compiled by torch.compile, all with the backend.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from measure import machine, per_call, run_as_it_is

import minidynamo

OPTIMIZERS: dict[str, tuple[type[torch.optim.Optimizer], dict[str, Any]]] = {
    "SGD": (torch.optim.SGD, {"lr": 1e-3}),
    "SGD momentum": (torch.optim.SGD, {"lr": 1e-3, "momentum": 0.9}),
    "Adam": (torch.optim.Adam, {}),
    "AdamW foreach": (torch.optim.AdamW, {"foreach": True}),
    "RMSprop": (torch.optim.RMSprop, {}),
    "Adagrad": (torch.optim.Adagrad, {}),
    "NAdam": (torch.optim.NAdam, {}),
}
Compile = Callable[..., Any]


def make_step(name: str, tensors: int) -> Callable[[], Any]:
    torch.manual_seed(0)
    cls, options = OPTIMIZERS[name]
    parameters = [torch.nn.Parameter(torch.randn(64, 64 if i % 2 else 1)) for i in range(tensors)]
    optimizer = cls(parameters, **options)
    for parameter in parameters:
        parameter.grad = torch.randn_like(parameter)

    def step() -> None:
        optimizer.step()

    return step


def cpu_seconds(call: Callable[[], Any], times: int) -> float:
    began = time.process_time()
    for _ in range(times):
        call()
    return time.process_time() - began


def front_end(compile: Compile, reset: Callable[[], None], name: str, tensors: int, rounds: int) -> float:
    """Median CPU seconds of all captures of one optimizer."""
    found = []
    for turn in range(rounds + 1):
        reset()
        step = compile(make_step(name, tensors), backend=run_as_it_is)
        first, later = cpu_seconds(step, 3), cpu_seconds(step, 3)
        if turn:
            found.append(first - later)
    return statistics.median(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tensors", type=int, default=60, help="parameters of the optimizer")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--backend", default="eager")
    parser.add_argument("--only", nargs="*", default=list(OPTIMIZERS))
    parser.add_argument("--smoke", action="store_true", help="once, with few parameters, and minidynamo only")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    minidynamo.config.stop_where_slower = False  # the captured step is timed, also where it does not pay
    tensors, rounds = (4, 1) if arguments.smoke else (arguments.tensors, arguments.rounds)
    print(machine())
    print(f"{tensors} parameters, backend {arguments.backend} for later steps")
    for name in arguments.only:
        own = front_end(minidynamo.compile, minidynamo.reset, name, tensors, rounds)
        line = f"{name:14} front end {own * 1e3:8.1f} ms CPU"
        calls = {"eager": make_step(name, tensors), "minidynamo": minidynamo.compile(make_step(name, tensors), backend=arguments.backend)}
        if not arguments.smoke:
            other = front_end(torch.compile, torch.compiler.reset, name, tensors, 1)
            line += f", torch.compile {other * 1e3:8.0f} ms ({other / own:5.1f}x)"
            calls["torch.compile"] = torch.compile(make_step(name, tensors), backend=arguments.backend)
        times = per_call(calls, rounds, 1 if arguments.smoke else 20)
        print(line + "; a step " + ", ".join(f"{key} {value * 1e6:6.0f} us" for key, value in times.items()), flush=True)


if __name__ == "__main__":
    main()
