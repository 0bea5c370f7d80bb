"""The cost of a graph break: microseconds for each call, and time of capture, beside torch.compile in one process, medians.

A call: a program of two short halves with a break between them, against the two halves captured as functions of their own and
called one after the other by hand, by the same front end. The difference is what the break costs: the Python code that runs it,
keeping what is live, and going on in the resume function. The two are timed in turns and subtracted round by round.

A capture: eleven layers with ten breaks between them, against the same eleven layers without, as in capture.py.

    python bench/breaks.py [--rounds 400] [--repeat 5] [--smoke]
"""

import argparse
import dataclasses
import statistics
from collections.abc import Callable
from typing import Any

import models
import torch
from capture import first_call
from measure import in_turns, machine, run_as_it_is

import minidynamo

Pause = Callable[[], None]
Captured = Callable[[Callable[..., Any]], Callable[..., Any]]

ITERATIONS = 6
LAYERS = 11


@dataclasses.dataclass(frozen=True)
class FrontEnd:
    """One of the two front ends.

    Attributes:
        compile: as torch.compile.
        reset: forgets what was captured.
        graph_break: ends a graph where it is called.
    """

    compile: Callable[..., Any]
    reset: Callable[[], None]
    graph_break: Pause


minidynamo.config.stop_where_slower = False  # the cost of a break is measured here, whether or not it pays
MINIDYNAMO = FrontEnd(minidynamo.compile, minidynamo.reset, minidynamo.graph_break)
TORCH = FrontEnd(torch.compile, torch.compiler.reset, torch._dynamo.graph_break)


# Programs with a break, each followed by its halves as they are put together by hand. The break is an argument, so that both
# front ends run the same code.


def straight(x: torch.Tensor, pause: Pause) -> torch.Tensor:
    a = (x + 1.0) * 2.0
    b = a.sin() - x
    pause()
    return (b.abs() + 1.0).cos() * b


def straight_by_hand(captured: Captured) -> Callable[..., Any]:
    @captured
    def first(x: torch.Tensor) -> torch.Tensor:
        a = (x + 1.0) * 2.0
        return a.sin() - x

    @captured
    def second(b: torch.Tensor) -> torch.Tensor:
        return (b.abs() + 1.0).cos() * b

    return lambda x: second(first(x))


def branch(x: torch.Tensor, pause: Pause) -> torch.Tensor:
    a = (x + 1.0) * 2.0
    b = a.sin() - x
    if b.sum() < 0:
        return b.exp() - 1.0
    return (b.abs() + 1.0).cos() * b


def branch_by_hand(captured: Captured) -> Callable[..., Any]:
    @captured
    def first(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        a = (x + 1.0) * 2.0
        b = a.sin() - x
        return b, b.sum() < 0

    @captured
    def negative(b: torch.Tensor) -> torch.Tensor:
        return b.exp() - 1.0

    @captured
    def positive(b: torch.Tensor) -> torch.Tensor:
        return (b.abs() + 1.0).cos() * b

    def by_hand(x: torch.Tensor) -> Any:
        b, condition = first(x)
        return negative(b) if condition else positive(b)

    return by_hand


def innermost(x: torch.Tensor, pause: Pause) -> torch.Tensor:
    a = (x + 1.0) * 2.0
    pause()
    return a.sin() - x


def middle(x: torch.Tensor, pause: Pause) -> torch.Tensor:
    return innermost(x, pause).abs()


def outer(x: torch.Tensor, pause: Pause) -> torch.Tensor:
    return middle(x, pause) + 1.0


def callee(x: torch.Tensor, pause: Pause) -> torch.Tensor:
    return outer(x - 1.0, pause).cos()


def callee_by_hand(captured: Captured) -> Callable[..., Any]:
    @captured
    def first(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        shifted = x - 1.0
        return (shifted + 1.0) * 2.0, shifted

    @captured
    def second(a: torch.Tensor, shifted: torch.Tensor) -> torch.Tensor:
        return ((a.sin() - shifted).abs() + 1.0).cos()

    return lambda x: second(*first(x))


def in_with(x: torch.Tensor, pause: Pause) -> torch.Tensor:
    with torch.no_grad():
        a = (x + 1.0) * 2.0
        pause()
        b = a.sin() - x
    return b.cos()


def in_with_by_hand(captured: Captured) -> Callable[..., Any]:
    """Each half enters the mode, and guards what that needs: more than the program with the break does."""

    @captured
    def first(x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            return (x + 1.0) * 2.0

    @captured
    def second(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            b = a.sin() - x
        return b.cos()

    return lambda x: second(first(x), x)


def in_try(x: torch.Tensor, pause: Pause) -> torch.Tensor:
    try:
        a = (x + 1.0) * 2.0
        pause()
        return (a.sin() - x).cos()
    except ValueError:
        return x


def in_try_by_hand(captured: Captured) -> Callable[..., Any]:
    @captured
    def first(x: torch.Tensor) -> torch.Tensor:
        return (x + 1.0) * 2.0

    @captured
    def second(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return (a.sin() - x).cos()

    def by_hand(x: torch.Tensor) -> Any:
        try:
            return second(first(x), x)
        except ValueError:
            return x

    return by_hand


def in_loop(x: torch.Tensor, pause: Pause) -> torch.Tensor:
    for _ in range(ITERATIONS):
        x = (x + 1.0) * 2.0
        pause()
        x = x.sin() - 0.5
    return x


def in_loop_by_hand(captured: Captured) -> Callable[..., Any]:
    """As many graphs as between the breaks: the second half of an iteration goes with the first half of the next."""

    @captured
    def first(x: torch.Tensor) -> torch.Tensor:
        return (x + 1.0) * 2.0

    @captured
    def between(x: torch.Tensor) -> torch.Tensor:
        x = x.sin() - 0.5
        return (x + 1.0) * 2.0

    @captured
    def last(x: torch.Tensor) -> torch.Tensor:
        return x.sin() - 0.5

    def by_hand(x: torch.Tensor) -> Any:
        x = first(x)
        for _ in range(ITERATIONS - 1):
            x = between(x)
        return last(x)

    return by_hand


@dataclasses.dataclass(frozen=True)
class Program:
    """A program with a break, and its halves by hand.

    Attributes:
        broken: takes a tensor, and the function whose call is a break.
        by_hand: given what captures a function, the same program in halves; takes the tensor.
        breaks: how many are run in one call.
    """

    broken: Callable[..., Any]
    by_hand: Callable[[Captured], Callable[..., Any]]
    breaks: int = 1


PROGRAMS = {
    "straight code": Program(straight, straight_by_hand),
    "branch on a tensor": Program(branch, branch_by_hand),
    "three calls deep": Program(callee, callee_by_hand),
    "in `with no_grad()`": Program(in_with, in_with_by_hand),
    "in `try`": Program(in_try, in_try_by_hand),
    "loop, an iteration": Program(in_loop, in_loop_by_hand, breaks=ITERATIONS),
}


@dataclasses.dataclass(frozen=True)
class CallTime:
    """Medians, in seconds. `graphs` is how many the broken program was captured into; 0: it ran uncaptured."""

    broken: float
    by_hand: float
    one_break: float
    graphs: int


def call_time(front_end: FrontEnd, program: Program, rounds: int, batch: int) -> CallTime:
    graphs = 0

    def backend(graph_module: torch.fx.GraphModule, example_inputs: list[torch.Tensor]) -> Any:
        nonlocal graphs
        graphs += 1
        return run_as_it_is(graph_module, example_inputs)

    front_end.reset()
    x = torch.linspace(-1.0, 1.0, 8)
    pause = front_end.graph_break
    optimized = front_end.compile(program.broken, backend=backend)
    expected = program.broken(x, nothing)
    torch.testing.assert_close(optimized(x, pause), expected)
    optimized(x, pause)
    graphs_of_broken, graphs = graphs, 0
    by_hand = program.by_hand(lambda half: front_end.compile(half, backend=backend))
    torch.testing.assert_close(by_hand(x), expected)
    times = in_turns({"broken": lambda: optimized(x, pause), "by hand": lambda: by_hand(x)}, rounds, batch)
    differences = [broken - halves for broken, halves in zip(times["broken"], times["by hand"])]
    return CallTime(
        statistics.median(times["broken"]),
        statistics.median(times["by hand"]),
        statistics.median(differences) / program.breaks,
        graphs_of_broken,
    )


def nothing() -> None:
    """In the place of a break."""


class SmallLayer(torch.nn.Module):
    """Three tensor operations."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.linear = torch.nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> Any:
        return x + self.linear(self.norm(x))


class Gated(torch.nn.Module):
    """Ten tensor operations."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.gate = torch.nn.Linear(width, width)
        self.value = torch.nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> Any:
        y = self.norm(x)
        gate = torch.sigmoid(self.gate(y)) * 2.0
        value = torch.nn.functional.gelu(self.value(y))
        return (x + gate * value.clamp(-4.0, 4.0)) * 0.5


def layer(operations: int) -> torch.nn.Module:
    """A layer of three tensor operations, or of a multiple of ten."""
    return SmallLayer() if operations == 3 else torch.nn.Sequential(*[Gated() for _ in range(operations // 10)])


class Network(torch.nn.Module):
    """Eleven layers with a pause after each but the last. Written out: torch.compile captures no loop that has a break."""

    def __init__(self, operations: int, pause: Pause) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(layer(operations) for _ in range(LAYERS))
        self.pause = pause

    def forward(self, x: torch.Tensor) -> Any:
        x = self.layers[0](x)
        self.pause()
        x = self.layers[1](x)
        self.pause()
        x = self.layers[2](x)
        self.pause()
        x = self.layers[3](x)
        self.pause()
        x = self.layers[4](x)
        self.pause()
        x = self.layers[5](x)
        self.pause()
        x = self.layers[6](x)
        self.pause()
        x = self.layers[7](x)
        self.pause()
        x = self.layers[8](x)
        self.pause()
        x = self.layers[9](x)
        self.pause()
        return self.layers[10](x)


@dataclasses.dataclass(frozen=True)
class CaptureTime:
    """Medians, in seconds, of a capture with ten breaks and one without, the ratio, and the graphs of the former."""

    broken: float
    whole: float
    ratio: float
    graphs: int


def capture_time(front_end: FrontEnd, operations: int, repeat: int) -> CaptureTime:
    cases = []
    for pause in (front_end.graph_break, nothing):
        torch.manual_seed(0)
        network = Network(operations, pause).eval()
        cases.append(models.Case(network, lambda: {"x": torch.ones(2, 8)}, dict))
    found: list[list[float]] = [[], []]
    graphs = [0, 0]
    for turn in range(repeat + 1):
        for i, case in enumerate(cases):
            spent, graphs[i] = first_call(front_end.compile, front_end.reset, case)
            if turn:  # the first fills caches of operator metadata
                found[i].append(spent)
    assert graphs[1] == 1, graphs
    broken, whole = map(statistics.median, found)
    return CaptureTime(broken, whole, broken / whole, graphs[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=400)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--smoke", action="store_true", help="few rounds, one repeat, the small network only")
    arguments = parser.parse_args()
    rounds, batch, repeat = (3, 20, 1) if arguments.smoke else (arguments.rounds, 50, arguments.repeat)
    sizes = (3,) if arguments.smoke else (3, 30)
    torch.set_num_threads(1)
    print(machine())
    # One front end after the other, as in capture.py.
    calls: dict[str, list[CallTime]] = {name: [] for name in PROGRAMS}
    captures: dict[int, list[CaptureTime]] = {operations: [] for operations in sizes}
    for front_end in (MINIDYNAMO, TORCH):
        for name, program in PROGRAMS.items():
            calls[name].append(call_time(front_end, program, rounds, batch))
        with torch.no_grad():
            for operations in sizes:
                captures[operations].append(capture_time(front_end, operations, repeat))
        front_end.reset()

    fields = ("broken", "by hand", "a break", "graphs")
    print(f"\n{'':<22}{'minidynamo':>40}{'torch.compile':>40}")
    print(f"{'a call, us':<22}" + 2 * "".join(f"{field:>10}" for field in fields))
    for name, both in calls.items():
        print(f"{name:<22}" + "".join(call_columns(each) for each in both))
    fields = ("10 breaks", "none", "ratio", "graphs")
    print(f"\n{'capture, ms':<22}" + 2 * "".join(f"{field:>10}" for field in fields))
    for operations, times in captures.items():
        print(f"{f'{LAYERS} x {operations} operations':<22}" + "".join(capture_columns(each) for each in times))


def call_columns(times: CallTime) -> str:
    one_break = f"{times.one_break * 1e6:.2f}" if times.graphs else "-"
    return f"{times.broken * 1e6:>10.1f}{times.by_hand * 1e6:>10.1f}{one_break:>10}{times.graphs:>10}"


def capture_columns(times: CaptureTime) -> str:
    return f"{times.broken * 1e3:>10.2f}{times.whole * 1e3:>10.2f}{times.ratio:>10.2f}{times.graphs:>10}"


if __name__ == "__main__":
    main()
