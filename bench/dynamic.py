"""Dynamic shapes beside torch.compile in one process: captures for each call of a sequence, milliseconds of a capture, microseconds of a
hit.

    python bench/dynamic.py [--repeat 5] [--smoke]
"""

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from measure import machine
from models import bert

import minidynamo


class Counting:
    """A backend that counts what it is given, and runs it as it is."""

    def __init__(self) -> None:
        self.graphs = 0

    def __call__(self, graph_module: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
        self.graphs += 1
        return graph_module.forward


def scaled(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x * 2) + x.shape[0]


def branched(x: torch.Tensor) -> torch.Tensor:
    return x + 1 if x.shape[0] > 5 else x - 1


def with_number(x: torch.Tensor, n: int) -> torch.Tensor:
    return x * n


def both(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x.sum() + y.sum()


def of(*shapes: tuple[int, ...]) -> list[tuple[Any, ...]]:
    return [(torch.ones(shape),) for shape in shapes]


SEQUENCES: dict[str, tuple[Callable[..., Any], list[tuple[Any, ...]]]] = {
    "batch 4, 5, 6, 7": (scaled, of((4, 8), (5, 8), (6, 8), (7, 8))),
    "batch, then length": (scaled, of((4, 8), (5, 8), (5, 9), (6, 10))),
    "a last batch of 1": (scaled, of((4, 8), (5, 8), (1, 8), (1, 8), (6, 8))),
    "int 3, 4, 5, 6": (with_number, [(torch.ones(3), n) for n in (3, 4, 5, 6)]),
    "a branch on a size": (branched, of((4, 8), (5, 8), (6, 8), (7, 8), (3, 8))),
    "two that were equal": (both, [(torch.ones(a), torch.ones(b)) for a, b in ((3, 3), (5, 6), (7, 4))]),
}


def counts(compile: Callable[..., Any], reset: Callable[[], None], function: Callable[..., Any], calls: list[tuple[Any, ...]]) -> list[int]:
    reset()
    backend = Counting()
    captured = compile(function, backend=backend)
    found = []
    for arguments in calls:
        before = backend.graphs
        captured(*arguments)
        found.append(backend.graphs - before)
    return found


def block(x: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    b, s, e = x.shape
    h = (x @ weights).view(b, s, 4, e // 4).transpose(1, 2)
    h = F.scaled_dot_product_attention(h, h, h).transpose(1, 2).reshape(b, s, e)
    return F.layer_norm(F.gelu(h) + x, (e,))


def cpu_of(run: Callable[[], Any]) -> float:
    began = time.process_time()
    run()
    return time.process_time() - began


def capture(
    compile: Callable[..., Any], reset: Callable[[], None], function: Callable[..., Any], arguments: Any, dynamic: bool, repeat: int
) -> float:
    """Median CPU seconds of a first call less a later one, after one that warmed what is kept."""
    found = []
    for turn in range(repeat + 1):
        reset()
        captured = compile(function, backend=Counting(), fullgraph=True, dynamic=dynamic)
        first, later = (cpu_of(lambda captured=captured: captured(*arguments)) for _ in range(2))  # type: ignore[misc]
        if turn:
            found.append(first - later)
    return statistics.median(found)


def hit(function: Callable[..., Any], arguments: Any, dynamic: bool, repeat: int) -> float:
    """Seconds of a cached call of a function whose graph does next to nothing."""
    minidynamo.reset()
    captured = minidynamo.compile(function, backend="eager", fullgraph=True, dynamic=dynamic)
    captured(*arguments)
    calls = 2000
    return min(cpu_of(lambda: [captured(*arguments) for _ in range(calls)]) for _ in range(repeat)) / calls


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--smoke", action="store_true", help="once, small, and minidynamo only")
    arguments = parser.parse_args()
    repeat = 1 if arguments.smoke else arguments.repeat
    torch.set_num_threads(1)
    print(machine())
    print("captures for each call")
    for name, (function, calls) in SEQUENCES.items():
        line = f"  {name:22} {' '.join(map(str, counts(minidynamo.compile, minidynamo.reset, function, calls))):12}"
        if not arguments.smoke:
            line += "torch.compile " + " ".join(map(str, counts(torch.compile, torch.compiler.reset, function, calls)))
        print(line, flush=True)
    print("capture, CPU ms")
    programs: list[tuple[str, Callable[..., Any], tuple[Any, ...]]] = [
        ("a transformer's block", block, (torch.randn(2, 7, 64), torch.randn(64, 64)))
    ]
    if not arguments.smoke:
        case = bert(12)
        inputs = case.inputs()
        programs.append(("BERT, 12 layers", lambda *values: case.module(**dict(zip(inputs, values, strict=True))), tuple(inputs.values())))
    for name, call, values in programs:
        static = capture(minidynamo.compile, minidynamo.reset, call, values, False, repeat)
        dynamic = capture(minidynamo.compile, minidynamo.reset, call, values, True, repeat)
        line = f"  {name:22} static {static * 1e3:8.2f}  dynamic {dynamic * 1e3:8.2f} ({dynamic / static:.2f}x)"
        if not arguments.smoke:
            other = capture(torch.compile, torch.compiler.reset, call, values, True, max(1, repeat // 3))
            line += f"  torch.compile dynamic {other * 1e3:9.1f} ({other / dynamic:.1f}x)"
        print(line, flush=True)
    x = torch.ones(4, 8)
    static, dynamic = hit(lambda x: x + 1, (x,), False, 5 * repeat), hit(lambda x: x + 1, (x,), True, 5 * repeat)
    conditions = hit(lambda x: x + 1 if x.shape[0] * x.shape[1] < 100 and x.shape[1] > 2 else x, (x,), True, 5 * repeat)
    print(f"a hit, CPU us\n  static {static * 1e6:.2f}  dynamic {dynamic * 1e6:.2f}  with two conditions {conditions * 1e6:.2f}")


if __name__ == "__main__":
    main()
