"""Guards, and steps of residual code, grow as the program does: counted, not timed. Times are bench/scaling.py's."""

import gc
import logging
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch

import minidynamo

sys.path.append(str(Path(__file__).parents[3] / "bench"))
import scaling

NOT_COUNTED = {"breaks"}  # many captures


def guards(name: str, n: int) -> int:
    return scaling.measure(scaling.KINDS[name], n, runs=1)[1]


@pytest.mark.parametrize("name", [name for name in scaling.KINDS if name not in NOT_COUNTED])
def test_guards_grow_linearly(name: str) -> None:
    few, many = guards(name, 100), guards(name, 400)
    assert many <= 4 * few + 8


def test_many_written_objects() -> None:
    n = 3000
    modules = [torch.nn.Identity() for _ in range(n)]

    def f(x: torch.Tensor) -> torch.Tensor:
        for k, module in enumerate(modules):
            module.count = k
        return x + 1

    minidynamo.optimize("eager", fullgraph=True)(f)(torch.ones(2))
    assert [module.count for module in modules] == list(range(n))
    (entry,) = minidynamo.debug.cache_entries(f)
    assert len(entry.guards) <= 9 * n + 60
    assert len(entry.source.splitlines()) <= 4 * n + 50


def test_lookups_in_a_dict_that_grows() -> None:
    """As a pickler's memo does: a lookup looks at one key, not at all that the dict holds."""

    def capture(n: int) -> float:
        def f(x: torch.Tensor) -> torch.Tensor:
            memo: dict[int, Any] = {}
            for k in range(n):
                if k not in memo:
                    memo[k] = (k, [k], {"k": k})
            return x + len(memo)

        minidynamo.reset()  # so that n is no number that changes
        began = time.process_time()
        minidynamo.optimize("eager", fullgraph=True)(f)(torch.ones(2))
        return time.process_time() - began

    capture(10)
    few, many = capture(1000), capture(8000)
    assert many < 20 * few


def put(held: dict[int, Any], key: int) -> None:
    held[key] = key


CONTAINERS = {
    "in": ("{}", "if k not in held: held[k] = (k, [k])"),
    "get": ("{}", "if held.get(k) is None: held[k] = (k, [k])"),
    "an argument": ("{}", "put(held, k)"),
    "append": ("[]", "held.append(k)\n        held[k]"),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_containers_that_grow_where_sizes_change(name: str) -> None:
    """A value that a call or a lookup only hands on, or finds by its key, is not searched for sizes at each of them."""
    made, use = CONTAINERS[name]
    namespace: dict[str, Any] = {"put": put}
    exec(f"def f(x, n):\n    held = {made}\n    for k in range(n):\n        {use}\n    return x + len(held) + x.shape[0]", namespace)
    uses = namespace["f"]

    def capture(n: int) -> float:
        def f(x: torch.Tensor) -> torch.Tensor:
            return uses(x, n)

        minidynamo.reset()
        captured = minidynamo.compile(f, backend="eager", fullgraph=True, dynamic=True)
        began = time.process_time()
        assert captured(torch.ones(3))[0] == n + 4
        return time.process_time() - began

    capture(10)
    few, many = capture(1000), capture(8000)
    assert many < 20 * few


class Box:
    v: Any = 0


@pytest.mark.parametrize("meet", [(0, 1), (1, 2), (0, 3), (2, 3), (3, 4)])
def test_written_objects_must_stay_apart(meet: tuple[int, int]) -> None:
    """The first three are written, the other two are only read: those two may be one object at a later call."""

    def f(x: torch.Tensor, boxes: list[Box]) -> Any:
        seen = [box.v for box in boxes[3:]]
        for k, box in enumerate(boxes[:3]):
            box.v = box.v + k + 1
        return x + 1, seen, [box.v for box in boxes]

    optimized = minidynamo.optimize("eager", fullgraph=True)(f)
    x = torch.ones(2)
    for together in (False, True, False):
        results = []
        for call in (optimized, f):
            boxes = [Box() for _ in range(5)]
            if together:
                boxes[meet[1]] = boxes[meet[0]]
            results.append((str(call(x, boxes)), [box.v for box in boxes]))
        assert results[0] == results[1]
    assert len(minidynamo.debug.cache_entries(f)) == (1 if meet == (3, 4) else 2)


def test_why_written_objects_that_met_are_captured_again(caplog: pytest.LogCaptureFixture) -> None:
    def f(x: torch.Tensor, a: Box, b: Box, c: Box) -> Any:
        a.v += 1
        c.v += 1
        return x + b.v

    optimized = minidynamo.optimize("eager", fullgraph=True)(f)
    x = torch.ones(2)
    optimized(x, Box(), Box(), Box())
    (entry,) = minidynamo.debug.cache_entries(f)
    (apart,) = (guard for guard in entry.guards if "isdisjoint" in guard)
    a, b, c = Box(), Box(), Box()
    assert eval(apart, {"L": {"a": a, "b": b, "c": c}})
    assert not eval(apart, {"L": {"a": a, "b": a, "c": c}})
    assert not eval(apart, {"L": {"a": a, "b": b, "c": a}})
    with minidynamo.config.patch(logs={"recompiles"}), caplog.at_level(logging.DEBUG, "minidynamo"):
        optimized(x, b, b, c)
    assert "the same object now" in caplog.text


# Long work. CPU seconds of one and of two (four) times as much, the best of some runs each, so that another load of the machine does
# not decide; a quadratic part would show as a factor of four (sixteen).


def cpu_seconds(make: Any, n: int, runs: int = 3) -> float:
    best = float("inf")
    for _ in range(runs):
        minidynamo.reset()
        f, args = make(n)
        captured = minidynamo.optimize("eager", fullgraph=True)(f)
        gc.collect()
        gc.disable()
        try:
            begin = time.process_time()
            captured(*args)
            best = min(best, time.process_time() - begin)
        finally:
            gc.enable()
    return best


def long_loop(n: int) -> Any:
    def f(x: torch.Tensor) -> torch.Tensor:
        for _ in range(n):
            x = x + 1
        return x

    return f, (torch.zeros(2),)


def nested_calls(n: int) -> Any:
    def f(x: torch.Tensor, left: int = n) -> torch.Tensor:
        return f(x + 1, left - 1) if left else x

    return f, (torch.zeros(2),)


@pytest.mark.parametrize(
    "make, few, many",
    [
        (long_loop, 2500, 10_000),
        (scaling.KINDS["branches"], 750, 3000),
        (nested_calls, 95, 380),
        (scaling.KINDS["cached_calls"], 2000, 8000),
    ],
    ids=["operations", "branches", "nested calls", "cached calls"],
)
def test_long_work_takes_linear_time(make: Any, few: int, many: int) -> None:
    with minidynamo.config.patch(mirror=False):
        short, long = cpu_seconds(make, few), cpu_seconds(make, many)
    assert long <= 10 * short + 0.05, (short, long)


def test_long_work_is_right() -> None:
    f, (x,) = long_loop(10_000)
    assert torch.equal(minidynamo.optimize("eager", fullgraph=True)(f)(x), torch.full((2,), 10_000.0))
    g, (x,) = nested_calls(380)
    assert torch.equal(minidynamo.optimize("eager", fullgraph=True)(g)(x), torch.full((2,), 380.0))


def test_calls_beside_a_large_container() -> None:
    """C code that is called a thousand times with a large dict, as difflib does, is not preceded by a thousand walks over it."""

    def seconds(size: int) -> float:
        def f(x: torch.Tensor) -> torch.Tensor:
            table = dict.fromkeys(range(size), ())
            found = [table.get(k % 10) for k in range(1000)]
            return x + len(found)

        compiled = minidynamo.compile(f, backend="eager", fullgraph=True, dynamic=False)
        start = time.process_time()
        compiled(torch.ones(2))
        return time.process_time() - start

    seconds(10)
    few, many = seconds(10), seconds(50_000)
    assert many < 4 * few + 0.2  # the walks took more than a second
