"""The cost of the evaluator without tensors: nanoseconds for each bytecode instruction, and for each Python call that it inlines.

Kernels in the manner of pyperformance are captured, and the time of their traces divided by the instructions that these evaluated;
CPython's own time for the same work stands beside it. A call costs what a loop with one more call in it takes longer.

    python bench/evaluator.py [--repeat 7] [--smoke]

Medians over fresh captures. The time of torch.compile for an instruction of a loop of additions is printed too.
"""

import argparse
import statistics
import time
from collections.abc import Callable

import torch
from measure import machine, run_as_it_is

import minidynamo


class Point:
    def __init__(self, x: float, y: float) -> None:
        self.x = x
        self.y = y

    def moved(self, dx: float) -> "Point":
        return Point(self.x + dx, self.y)


def nested_loops(n: int) -> int:
    total = 0
    for i in range(n):
        for j in range(100):
            if (i ^ j) & 1:
                total += i * j
            else:
                total -= j
    return total


def attributes(n: int) -> float:
    point = Point(1.0, 2.0)
    for _ in range(n * 40):
        point.x = point.x + point.y
        point.y = point.x - point.y
    return point.x - point.y


def calls(n: int) -> float:
    def step(a: float, b: float) -> float:
        return a * 0.5 + b

    total = 0.0
    for i in range(n * 30):
        total = step(total, i)
    return total


def methods(n: int) -> float:
    point = Point(0.0, 1.0)
    for _ in range(n * 10):
        point = point.moved(1.5)
    return point.x


def comprehensions(n: int) -> int:
    total = 0
    for _ in range(n):
        squares = [i * i for i in range(40)]
        even = {i: s for i, s in enumerate(squares) if s % 2 == 0}
        total += sum(even.values()) + len({s % 7 for s in squares})
    return total


def sieve(n: int) -> int:
    limit = n * 20
    flags = [True] * limit
    for i in range(2, limit):
        if flags[i]:
            for k in range(i * i, limit, i):
                flags[k] = False
    return sum(1 for flag in flags[2:] if flag)


def strings(n: int) -> int:
    words: list[str] = []
    for i in range(n * 10):
        words.append(f"{i % 13}-{i & 3}")
    return len(",".join(words)) + len(set(words))


KERNELS: list[Callable[[int], object]] = [nested_loops, attributes, calls, methods, comprehensions, sieve, strings]


def with_calls(n: int) -> float:
    def same(a: float) -> float:
        return a

    total = 0.0
    for i in range(n):
        total += same(i)
    return total


def without_calls(n: int) -> float:
    total = 0.0
    for i in range(n):
        total += i
    return total


def traced(kernel: Callable[[int], object], size: int) -> tuple[float, int]:
    """Seconds in the evaluator for a fresh capture, and the instructions that it evaluated."""
    minidynamo.reset()
    minidynamo.compile(kernel, backend=run_as_it_is)(size)
    found = minidynamo.stats()
    return found["phases"]["evaluate"], found["instructions"]


def plain(kernel: Callable[[int], object], size: int) -> float:
    began = time.perf_counter()
    kernel(size)
    return time.perf_counter() - began


def peer_per_instruction() -> float:
    """Seconds that torch.compile takes longer for each instruction of a longer loop without tensors."""

    def loop(x: torch.Tensor, n: int) -> torch.Tensor:
        total = 0
        for i in range(n):
            total += i
        return x + total

    def capture(n: int) -> float:
        torch.compiler.reset()
        began = time.perf_counter()
        torch.compile(loop, backend="eager", dynamic=False)(torch.ones(1), n)
        return time.perf_counter() - began

    capture(2)
    instructions = 5 * 400  # in the 400 further iterations
    return (capture(500) - capture(100)) / instructions


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--smoke", action="store_true", help="small and once: that it runs")
    options = parser.parse_args()
    size, repeat = (5, 1) if options.smoke else (100, options.repeat)
    print(machine())
    print(f"{'kernel':16} {'instructions':>13} {'ns each':>8} {'CPython, ns each':>17}")
    for kernel in KERNELS:
        runs = [traced(kernel, size) for _ in range(repeat)]
        seconds = statistics.median(run[0] for run in runs)
        instructions = runs[0][1]
        own = statistics.median(plain(kernel, size) for _ in range(repeat))
        print(f"{kernel.__name__:16} {instructions:13,} {seconds / instructions * 1e9:8.1f} {own / instructions * 1e9:17.1f}")
    count = 200 if options.smoke else 5000
    longer = statistics.median(traced(with_calls, count)[0] - traced(without_calls, count)[0] for _ in range(repeat))
    print(f"an inlined call of a Python function: {longer / count * 1e9:.0f} ns")
    if not options.smoke:
        print(f"torch.compile, for an instruction: {peer_per_instruction() * 1e6:.1f} us")


if __name__ == "__main__":
    main()
