"""How the cost of a capture grows with the size of the program: each kind of program at doubling sizes.

A row has CPU seconds of the capture, guards, and CPU microseconds of a call that hits, at each size, and the exponents of
the last doubling: 1.0 is linear, 2.0 quadratic. Times are the best of some runs; the exponent is what to look at.

    python bench/scaling.py [--sizes 500 1000 2000 4000] [KIND ...]
"""

import argparse
import collections
import contextvars
import enum
import functools
import gc
import math
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch

import minidynamo

X = torch.ones(2)
Program = tuple[Callable[..., Any], tuple[Any, ...]]
KINDS: dict[str, Callable[[int], Program]] = {}


def kind(make: Callable[[int], Program]) -> Callable[[int], Program]:
    KINDS[make.__name__] = make
    return make


def function(source: str, **names: Any) -> Callable[..., Any]:
    """The function `f` of a source text."""
    namespace: dict[str, Any] = {"torch": torch, **names}
    exec(compile(source, "<scaling>", "exec"), namespace)
    made: Callable[..., Any] = namespace["f"]
    return made


class Item:
    pass


def items(n: int) -> list[Item]:
    made = [Item() for _ in range(n)]
    for k, item in enumerate(made):
        item.value = k  # type: ignore[attr-defined]
    return made


@kind
def modules_written(n: int) -> Program:
    """n modules, of which each gets an attribute."""
    source = "def f(x, modules):\n    for m in modules:\n        m.count = 1\n        x = x + 1 if m.training else x\n    return x"
    modules = [torch.nn.Identity() for _ in range(n)]
    for module in modules:
        module.eval()
    return function(source), (X, modules)


@kind
def objects_written(n: int) -> Program:
    return function("def f(x, items):\n    for o in items:\n        o.value += 1\n    return x + 1"), (X, items(n))


@kind
def one_object_written(n: int) -> Program:
    source = f"def f(x, o):\n    for k in range({n}):\n        setattr(o, 'a%d' % k, k)\n    return x + 1"
    return function(source), (X, Item())


@kind
def globals_written(n: int) -> Program:
    lines = "".join(f"    global g{k}\n    g{k} = g{k} + 1\n" for k in range(n))
    return function(f"def f(x):\n{lines}    return x + 1", **{f"g{k}": k for k in range(n)}), (X,)


@kind
def lists_changed(n: int) -> Program:
    return function("def f(x, lists):\n    for l in lists:\n        l.append(1)\n    return x + 1"), (X, [[k] for k in range(n)])


@kind
def dict_items_changed(n: int) -> Program:
    return function("def f(x, d):\n    for k in d:\n        d[k] += 1\n    return x + 1"), (X, dict.fromkeys(range(n), 0))


@kind
def enum_keys_changed(n: int) -> Program:
    key = enum.Enum("key", [f"k{i}" for i in range(n)])  # type: ignore[misc]
    return function("def f(x, d):\n    for k in list(d):\n        d[k] += 1\n    return x + 1"), (X, dict.fromkeys(key, 0))


@kind
def ordered_dict_changed(n: int) -> Program:
    source = "def f(x, d):\n    for k in list(d):\n        d[k] += 1\n    d.move_to_end(0)\n    return x + 1"
    return function(source), (X, collections.OrderedDict.fromkeys(range(n), 0))


@kind
def iterator_advanced(n: int) -> Program:
    source = "def f(x, l, i):\n    l.append(l.pop())\n    s = 0\n    for k in i:\n        s += k\n    return x + s"
    return function(source), (X, list(range(n)), iter(range(n)))


@kind
def cached_calls(n: int) -> Program:
    @functools.cache
    def cached(k: int) -> int:
        return k + 1

    source = f"def f(x, l):\n    for k in range({n}):\n        l.append(cached(k))\n    return x + 1"
    return function(source, cached=cached), (X, [])


@kind
def context_variables(n: int) -> Program:
    variable = contextvars.ContextVar("variable", default=0)
    source = f"def f(x):\n    for k in range({n}):\n        v.set(v.get() + 1)\n    return x + v.get()"
    return function(source, v=variable), (X,)


@kind
def iterations(n: int) -> Program:
    return function(f"def f(x):\n    for k in range({n}):\n        x = x + k\n    return x"), (X,)


@kind
def calls(n: int) -> Program:
    return function(f"def g(x, k):\n    return x + k\ndef f(x):\n    for k in range({n}):\n        x = g(x, k)\n    return x"), (X,)


@kind
def branches(n: int) -> Program:
    source = (
        "def f(x, flags):\n    for v in flags:\n        if v:\n            x = x + 1\n        else:\n            x = x * 2\n    return x"
    )
    return function(source), (X, [k % 3 == 0 for k in range(n)])


@kind
def closures(n: int) -> Program:
    source = f"def f(x):\n    fs = [(lambda y, k=k: y + k) for k in range({n})]\n    for g in fs:\n        x = g(x)\n    return x"
    return function(source), (X,)


@kind
def closures_returned(n: int) -> Program:
    return function(f"def f(x):\n    y = x + 1\n    return [(lambda k=k: y + k) for k in range({n})]"), (X,)


@kind
def lists_returned(n: int) -> Program:
    return function(f"def f(x):\n    y = x + 1\n    return [[k, y] for k in range({n})]"), (X,)


@kind
def long_code(n: int) -> Program:
    lines = "".join(f"    x = x + {k}\n" for k in range(n))
    return function(f"def f(x):\n{lines}    return x"), (X,)


@kind
def many_locals(n: int) -> Program:
    lines = "".join(f"    v{k} = x + {k}\n" for k in range(n))
    total = "".join(f"    x = x + v{k}\n" for k in range(n))
    return function(f"def f(x):\n{lines}{total}    return x"), (X,)


@kind
def breaks(n: int) -> Program:
    """A break for every hundred."""
    lines = "".join("    x = x + 1\n    print(end='')\n" for _ in range(n // 100))
    return function(f"def f(x):\n{lines}    return x"), (X,)


@kind
def break_in_long_code(n: int) -> Program:
    lines = "".join(f"    v{k} = {k}\n" for k in range(n))
    total = "".join(f"    x = x + v{k}\n" for k in range(n))
    return function(f"def f(x):\n{lines}    print(end='')\n{total}    return x"), (X,)


@kind
def handlers(n: int) -> Program:
    lines = "".join(f"    try:\n        x = x + {k}\n    except ValueError:\n        x = x - 1\n" for k in range(n))
    return function(f"def f(x):\n{lines}    return x"), (X,)


@kind
def tensors_passed(n: int) -> Program:
    return function("def f(x, ts):\n    for t in ts:\n        x = x + t\n    return x"), (X, [torch.ones(2) for _ in range(n)])


@kind
def told_apart(n: int) -> Program:
    source = "def f(x, items):\n    seen = set()\n    for o in items:\n        seen.add(o)\n    return x + len(seen)"
    return function(source), (X, [Item() for _ in range(n)])


def best(times: int, measure: Callable[[], float]) -> float:
    return min(measure() for _ in range(times))


def cpu(run: Callable[[], object]) -> float:
    gc.collect()
    start = time.process_time()
    run()
    return time.process_time() - start


def plain(graph_module: torch.fx.GraphModule, example_inputs: list[torch.Tensor]) -> Callable[..., Any]:
    """A backend that costs nothing: what grows is ours. Its outputs are made once."""
    outputs = graph_module(*example_inputs)
    return lambda *inputs: outputs


def measure(make: Callable[[int], Program], n: int, runs: int) -> tuple[float, int, float]:
    """CPU seconds of a capture, guards, CPU microseconds of a hit."""
    guards = 0
    hit = math.inf

    def once() -> float:
        nonlocal guards, hit
        f, arguments = make(n)
        optimized = minidynamo.optimize(plain)(f)
        seconds = cpu(lambda: optimized(*arguments))
        guards = sum(len(entry.guards) for entry in minidynamo.debug.cache_entries(f))
        hit = min(hit, 1e6 * cpu(lambda: optimized(*arguments)))
        minidynamo.reset()
        return seconds

    return best(runs, once), guards, hit


def exponent(small: float, large: float) -> float:
    return math.log2(large / small) if small > 0 and large > 0 else 0.0


def rows(kinds: list[str], sizes: list[int], runs: int) -> Iterator[str]:
    yield f"{'kind':22}" + "".join(f"{n:>10}" for n in sizes) + f"{'exponents: capture, guards, hit':>36}"
    for name in kinds:
        measured = [measure(KINDS[name], n, runs) for n in sizes]
        seconds = "".join(f"{seconds:9.3f}s" for seconds, _, _ in measured)
        grows = [exponent(measured[-2][k], measured[-1][k]) for k in range(3)] if len(sizes) > 1 else []
        yield f"{name:22}{seconds}" + "".join(f"{value:12.2f}" for value in grows) + f"   {measured[-1][1]} guards"


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(KINDS)}; all by default")
    parser.add_argument("--sizes", nargs="+", type=int, default=[500, 1000, 2000, 4000])
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    sys.setrecursionlimit(100_000)
    for row in rows(options.kinds or list(KINDS), options.sizes, options.runs):
        print(row, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
