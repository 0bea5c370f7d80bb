"""Per-call time of eleven elementwise operations on 256 x 256: eager, minidynamo's backends, torch.compile.

One process, one thread, measured in turns, medians. The last column is what a call costs above the compiled kernel alone,
where the kernel can be had: the callable that the backend returned.

    python bench/chain.py [--size 256] [--rounds 30] [--smoke]
"""

import argparse
from collections.abc import Callable
from typing import Any

import torch
from measure import machine, per_call

import minidynamo
from minidynamo import backends


def chain(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    a = (x + y) * 0.5
    b = a.sin() - x.cos()
    c = b.abs() + 1.0
    d = c.log() * y
    return d.sigmoid().tanh()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--smoke", action="store_true", help="few rounds")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    x, y = torch.randn(arguments.size, arguments.size), torch.randn(arguments.size, arguments.size)
    expected = chain(x, y)

    calls: dict[str, Callable[[], Any]] = {"eager": lambda: chain(x, y)}
    kernels: dict[str, str] = {}

    def add(name: str, optimized: Callable[..., Any]) -> None:
        torch.testing.assert_close(optimized(x, y), expected)
        calls[name] = lambda: optimized(x, y)

    for backend in ("eager", "python", "ts", "inductor"):
        kept: list[Callable[..., Any]] = []
        compiler = backends.resolve(backend)

        def keeping(graph_module: Any, example_inputs: Any, compiler: Any = compiler, kept: Any = kept) -> Any:
            kept.append(compiler(graph_module, example_inputs))
            return kept[0]

        name = f"minidynamo {backend}"
        add(name, minidynamo.compile(chain, backend=keeping, fullgraph=True))
        kernels[name] = f"kernel of {backend}"
        calls[kernels[name]] = lambda kernel=kept[0]: kernel(x, y)
    add("torch.compile inductor", torch.compile(chain, backend="inductor", fullgraph=True))
    kernels["torch.compile inductor"] = "kernel of inductor"

    with torch.no_grad():
        times = per_call(calls, rounds=3 if arguments.smoke else arguments.rounds, batch=20 if arguments.smoke else 100)
    print(machine())
    print(f"\n{'per call, us':<28}{'time':>10}{'of eager':>10}{'above kernel':>14}")
    for name, spent in times.items():
        if name.startswith("kernel"):
            continue
        above = f"{(spent - times[kernels[name]]) * 1e6:>14.2f}" if name in kernels else ""
        print(f"{name:<28}{spent * 1e6:>10.1f}{spent / times['eager']:>10.2f}{above}")


if __name__ == "__main__":
    main()
