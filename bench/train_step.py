"""Whole training steps beside what torch.compile makes of them, in one process.

    python bench/train_step.py [--models mlp gpt] [--backend inductor] [--rounds 12] [--front-end] [--memory] [--smoke]

A step is zero_grad, forward, loss, backward, clipping and AdamW. Measured in turns: eager, torch.compile of the model, torch.compile of
the step, and minidynamo's of the step. `--front-end`: process CPU time of the capture (warm: the second of two models alike, with a
backend that only runs the graph; for torch.compile, with its backend "eager"). `--memory`: peak resident memory that the steps add, each
in a process of its own.
"""

import argparse
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from measure import machine, per_call, run_as_it_is
from torch import nn

import minidynamo

Step = Callable[[], Any]


def mlp() -> tuple[nn.Module, Callable[[nn.Module], torch.Tensor]]:
    model = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))
    x, y = torch.randn(64, 256), torch.randint(0, 10, (64,))
    return model, lambda model: nn.functional.cross_entropy(model(x), y)


def transformer(name: str, rows: int, columns: int, **sizes: int) -> tuple[nn.Module, Callable[[nn.Module], torch.Tensor]]:
    import transformers

    model_class = getattr(transformers, name)
    model = model_class(model_class.config_class(vocab_size=512, bos_token_id=1, eos_token_id=1, **sizes))
    tokens = torch.randint(0, 512, (rows, columns))
    return model.train(), lambda model: model(input_ids=tokens, labels=tokens).loss


MODELS: dict[str, Callable[[], Any]] = {
    "mlp": mlp,
    "gpt": lambda: transformer("GPT2LMHeadModel", 4, 32, n_layer=2, n_embd=64, n_head=4, n_positions=64),
    "gpt-12": lambda: transformer("GPT2LMHeadModel", 4, 128, n_layer=12, n_embd=256, n_head=4, n_positions=128),
    "bert-12": lambda: transformer(
        "BertForMaskedLM", 2, 32, num_hidden_layers=12, hidden_size=64, num_attention_heads=4, intermediate_size=128
    ),
}


def make_step(name: str, compile_model: Callable[[nn.Module], Any] = lambda model: model) -> Step:
    torch.manual_seed(0)
    model, loss_of = MODELS[name]()
    optimizer = torch.optim.AdamW(model.parameters(), foreach=True)
    called = compile_model(model)

    def step() -> Any:
        optimizer.zero_grad()
        loss = loss_of(called)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.detach()

    return step


def ways(name: str, backend: str) -> dict[str, Callable[[], Step]]:
    return {
        "eager": lambda: make_step(name),
        "torch.compile(model)": lambda: make_step(name, lambda model: torch.compile(model, backend=backend)),
        "torch.compile(step)": lambda: torch.compile(make_step(name), backend=backend),
        "minidynamo": lambda: minidynamo.compile(make_step(name), backend=backend),
    }


def cpu_of_first_steps(step: Step) -> float:
    """CPU seconds of the first three steps, in which all is captured, less three later ones."""
    found = []
    for _ in range(2):
        began = time.process_time()
        for _ in range(3):
            step()
        found.append(time.process_time() - began)
    return found[0] - found[1]


def front_end(name: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for _ in range(2):  # the second time with all memos warm
        minidynamo.reset()
        found["minidynamo"] = cpu_of_first_steps(minidynamo.compile(make_step(name), backend=run_as_it_is))
    found["torch.compile(step)"] = cpu_of_first_steps(torch.compile(make_step(name), backend="eager"))
    return found


def peak_memory(name: str, backend: str, way: str) -> float:
    """MiB that steps add to the resident memory of a process of their own at most."""
    program = f"import sys; sys.argv[0] = ''; import train_step; train_step.print_memory({name!r}, {backend!r}, {way!r})"
    # Tensors that die give their memory back at once, so that what is resident is what is alive.
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_ARENA_MAX": "1"}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=sys.path[0], env=environment
    )
    return float(done.stdout.split()[-1])


def print_memory(name: str, backend: str, way: str) -> None:
    step = ways(name, backend)[way]()
    for _ in range(3):
        step()
    with open("/proc/self/clear_refs", "w") as references:
        references.write("5")  # the peak is that of now
    with open("/proc/self/statm") as pages:
        before = int(pages.read().split()[1]) * resource.getpagesize()
    for _ in range(5):
        step()
    with open("/proc/self/status") as status:
        peak = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
    print((peak - before) / 2**20)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="*", default=["mlp", "gpt"], choices=MODELS)
    parser.add_argument("--backend", default="inductor")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--front-end", action="store_true")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--smoke", action="store_true", help="a small model, once, and minidynamo only")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    minidynamo.config.stop_where_slower = False  # the captured step is timed, also where it does not pay
    print(machine())
    if arguments.smoke:
        step = minidynamo.optimize(run_as_it_is, fullgraph=True)(make_step("mlp"))
        print("mlp:", [round(step().item(), 3) for _ in range(3)], "captures:", minidynamo.stats()["captured"])
        return
    for name in arguments.models:
        steps = {way: make() for way, make in ways(name, arguments.backend).items()}
        times = per_call(steps, arguments.rounds, 15)
        print(f"{name:8} a step: " + ", ".join(f"{way} {value * 1e6:.0f} us" for way, value in times.items()), flush=True)
        if arguments.front_end:
            cpu = front_end(name)
            print(f"{name:8} front end: " + ", ".join(f"{way} {value * 1e3:.1f} ms CPU" for way, value in cpu.items()), flush=True)
        if arguments.memory:
            peaks = {way: peak_memory(name, arguments.backend, way) for way in steps}
            print(f"{name:8} peak memory: " + ", ".join(f"{way} {value:.0f} MiB" for way, value in peaks.items()), flush=True)


if __name__ == "__main__":
    main()
