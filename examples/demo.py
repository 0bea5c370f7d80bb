"""A real model through minidynamo: what is captured, under which guards, and what it costs.

Builds transformers' BERT with random weights (nothing is fetched), captures it, prints the graph and the guards (shortened;
--full prints all), and a table: eager, minidynamo and torch.compile, with the time of the first call and of later ones.
"""

import argparse
import functools
import pathlib
import platform
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "bench"))

import models
import torch

import minidynamo


def run_as_it_is(graph_module: torch.fx.GraphModule, example_inputs: list[torch.Tensor]) -> Callable[..., Any]:
    """The cheapest backend: what is timed with it is the front end."""
    return graph_module.forward


def seconds(call: Callable[[], Any]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def shortened(lines: list[str], full: bool, keep: int = 12, width: int = 150) -> str:
    if full:
        return "\n".join(lines)
    lines = [line if len(line) <= width else line[: width - 4] + " ..." for line in lines]
    if len(lines) <= 2 * keep:
        return "\n".join(lines)
    return "\n".join([*lines[:keep], f"... {len(lines) - 2 * keep} more ...", *lines[-keep:]])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=4, help="layers of the BERT (default 4)")
    parser.add_argument("--full", action="store_true", help="print the whole graph and all guards")
    parser.add_argument("--backend", help="also time this backend under both front ends, e.g. inductor")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    case = models.bert(arguments.layers)
    module, inputs = case.module.eval(), case.inputs()

    with torch.no_grad():
        expected = module(**inputs).logits
        captured = minidynamo.compile(module, backend=run_as_it_is, fullgraph=True)
        assert torch.equal(captured(**inputs).logits, expected)
        (entry,) = minidynamo.debug.cache_entries(captured)
        assert entry.graph is not None

        print(f"Captured graph of a BERT with {arguments.layers} layers:\n")
        print(shortened(str(entry.graph).strip().splitlines(), arguments.full))
        print(f"\nGuards ({len(entry.guards)}):\n")
        print(shortened(list(entry.guards), arguments.full))
        print(f"\n{platform.machine()}, Python {platform.python_version()}, torch {torch.__version__}, one thread\n")
        table(module, inputs, expected, arguments.backend)


def table(module: torch.nn.Module, inputs: dict[str, Any], expected: torch.Tensor, extra: str | None) -> None:
    print(f"{'':<28}{'first call':>14}{'later calls':>14}")
    eager = statistics.median(seconds(lambda: module(**inputs)) for _ in range(20))
    print(f"{'eager':<28}{'':>14}{eager * 1e3:>11.2f} ms")
    for label, backend in [("", run_as_it_is)] + ([(f" + {extra}", extra)] if extra else []):
        for name, front_end in (("minidynamo", minidynamo.compile), ("torch.compile", torch.compile)):
            minidynamo.reset()
            if name == "torch.compile":
                # Loaded, and used once, so that what is timed is the capture and not the import.
                torch.compile(lambda x: x + 1, backend=backend)(torch.ones(2))
            optimized = front_end(module, backend=backend, fullgraph=True)
            first, *later_calls = (seconds(functools.partial(optimized, **inputs)) for _ in range(21))
            later = statistics.median(later_calls)
            torch.testing.assert_close(optimized(**inputs).logits, expected, rtol=1e-4, atol=1e-4)
            print(f"{name + label:<28}{first * 1e3:>11.2f} ms{later * 1e3:>11.2f} ms")


if __name__ == "__main__":
    main()
