"""A float that the program computes of sizes is captured once more when they change, as the sizes are: not at each call. So is what takes
such a number: an index, a split, a tensor made of numbers, an interpolation.

Each row is captured for several sizes and must return what eager returns, to the bit; the graph has the number as a float.
"""

import math
import operator
import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import minidynamo

SIZES = (16, 25, 12, 21, 31, 18, 40, 13)
Function = Callable[[torch.Tensor, int], Any]

def set_item(x: torch.Tensor, key: Any, value: Any) -> torch.Tensor:
    x[key] = value
    return x


# Integers made of floats: sizes of results.
INTEGERS: dict[str, Function] = {
    "int of a quotient": lambda x, n: x[:, : int(x.shape[1] / 2)] + 1,
    "int of a product": lambda x, n: x[:, : int(x.shape[1] * 0.3)] + 1,
    "int of a product with a fraction": lambda x, n: x[:, : int(0.75 * x.shape[1])] + 1,
    "int of an argument's product": lambda x, n: x[:, : int(n * 0.75)] + 1,
    "floor": lambda x, n: x[:, : math.floor(x.shape[1] * 0.6)] + 1,
    "ceil": lambda x, n: x[:, : math.ceil(x.shape[1] / 3)] + 1,
    "ceil of a product": lambda x, n: x[:, : math.ceil(n * 0.1)] + 1,
    "trunc": lambda x, n: x[:, : math.trunc(x.shape[1] * 0.45)] + 1,
    "round": lambda x, n: x[:, : round(x.shape[1] * 0.5)] + 1,
    "root": lambda x, n: x[:, : int(math.sqrt(n))] + 1,
    "power": lambda x, n: x[:, : int(n**0.5)] + 1,
    "several": lambda x, n: x[:, : int((x.shape[1] + 1) / 2 * 0.9 - 0.5)] + 1,
    "max": lambda x, n: x[:, : max(2, int(n * 0.4))] + 1,
    "max of floats": lambda x, n: x[:, : int(max(2.5, n * 0.4))] + 1,
    "a view": lambda x, n: x.repeat(1, 2).view(x.shape[0], int(x.shape[1] * 0.5 * 2), 2) + 1,
    "torch.sym_int": lambda x, n: x[:, : torch.sym_int(x.shape[1] / 2)] + 1,
    "arange": lambda x, n: torch.arange(int(n / 2)) + 1,
    "a new tensor": lambda x, n: x.new_ones(int(n * 0.5), 2) + 1,
    "padding": lambda x, n: F.pad(x, (0, int(math.ceil(x.shape[1] / 4) * 4 - x.shape[1]))) + 1,
}

# Floats beside tensors.
FLOATS: dict[str, Function] = {
    "quotient": lambda x, n: x * (n / 2),
    "quotient of sizes": lambda x, n: x * (x.shape[0] / x.shape[1]),
    "reciprocal": lambda x, n: x * (1 / n),
    "divided by": lambda x, n: x / (n / 7),
    "root": lambda x, n: x / math.sqrt(x.shape[1]),
    "power": lambda x, n: x * x.shape[1] ** -0.5,
    "float()": lambda x, n: x + float(n),
    "negative": lambda x, n: x - -(n * 0.1),
    "abs": lambda x, n: x - abs(1 - n * 0.1),
    "sum": lambda x, n: x * (0.5 * n + n / 3 - 1.25),
    "pow()": lambda x, n: x * pow(n, 0.5),
    "of the operator module": lambda x, n: x * operator.truediv(n, 4),
    "alpha": lambda x, n: torch.add(x, x, alpha=n / 2),
    "clamp": lambda x, n: x.clamp(max=n / 8),
    "where": lambda x, n: torch.where(x > 0, x, n / 2),
    "full": lambda x, n: torch.full((2,), n / 2) + x[0, 0],
    "in place": lambda x, n: x.clone().mul_(n / 3),
    "integers": lambda x, n: torch.arange(3) * (n / 2),
    "comparison": lambda x, n: x < n / 20,
    "type": lambda x, n: x + (1 if type(n / 2) is float and isinstance(n / 2, float) else 2),
}

# Floats that only decide.
DECISIONS: dict[str, Function] = {
    "greater": lambda x, n: x + 1 if n / 2 > 2 else x - 1,
    "size and float": lambda x, n: x + 1 if x.shape[1] > 2.5 else x - 1,
    "truth": lambda x, n: x + 1 if n * 0.5 else x - 1,
    "chained": lambda x, n: x + 1 if 0.5 < n / 3 <= 100 else x - 1,
}

# Floats that leave the graph.
LEAVING: dict[str, Function] = {
    "returned": lambda x, n: (x + 1, n / 2),
    "returned, of either sign": lambda x, n: (x + 1, abs(n * 0.0 / -3), -(n * 0.0), 0.0 - n * 0.0),
    "returned root": lambda x, n: (x + 1, math.sqrt(x.shape[1]), x.shape[1] ** -0.5),
    "returned in a container": lambda x, n: {"a": [x + 1, -(n * 0.3)], "b": round(n * 0.3)},
}

# Items of tensors at such an int, and tensors made of numbers.
ITEMS: dict[str, Function] = {
    "item": lambda x, n: x.T[n - 2] * 2,
    "item from the end": lambda x, n: x.T[-(n // 2)] * 2,
    "item of a column": lambda x, n: x[:, n - 2] * 2,
    "item behind an ellipsis": lambda x, n: x[None, ..., n // 2] * 2,
    "items": lambda x, n: x[None][0, 1:, int(n / 4)] * 2,
    "with None": lambda x, n: x[1, None, n - 1] * 2,
    "slice and item": lambda x, n: x.T[: n // 2, 0] * x.T[n // 2 - 1 :][0, 1],
    "store": lambda x, n: set_item(x.T.clone(), n // 2, 3.0),
    "store in a column": lambda x, n: set_item(x.clone(), (slice(1, None), n - 2), x[1:, 0]),
    "store in a cache": lambda x, n: set_item(torch.zeros(2, 3, 64), (slice(None), slice(None), n), x[:, 1]),
    "split": lambda x, n: [part * 2 for part in x.split(n // 2 + 1, 1)],
    "split by sizes": lambda x, n: [part * 2 for part in x.split([2, n - 4, 2], 1)],
    "split and join": lambda x, n: torch.cat(x.split((n // 3, n - n // 3), 1)[::-1], 1),
    "tensor of an int": lambda x, n: x + torch.tensor(n),
    "tensor of a float": lambda x, n: x + torch.tensor(n / 3),
    "tensor of a list": lambda x, n: torch.tensor([[n, 2], [3, x.shape[1] // 2]]) + 1,
    "tensor of a mixed list": lambda x, n: torch.tensor([n, 0.5, n / 7]) + 1,
    "tensor with a dtype": lambda x, n: torch.tensor([n, n + 1], dtype=torch.float64) + 1,
    "tensor of numbers and tensors": lambda x, n: torch.tensor([n, x[0, 0].detach()]) + 1,
}

INTERPOLATIONS: dict[str, Function] = {
    "nearest": lambda x, n: F.interpolate(x[None], size=n),
    "nearest by a scale": lambda x, n: F.interpolate(x[None], scale_factor=2),
    "nearest by a fraction": lambda x, n: F.interpolate(x[None], scale_factor=0.5),
    "nearest-exact": lambda x, n: F.interpolate(x[None], size=n + 2, mode="nearest-exact"),
    "linear": lambda x, n: F.interpolate(x[None], size=n // 2, mode="linear"),
    "bilinear": lambda x, n: F.interpolate(x[None, None], size=(5, n * 2), mode="bilinear", align_corners=True),
    "bilinear by a scale": lambda x, n: F.interpolate(x[None, None], scale_factor=1.5, mode="bilinear"),
    "bilinear with antialias": lambda x, n: F.interpolate(x[None, None], size=(2, n), mode="bilinear", antialias=True),
    "bicubic": lambda x, n: F.interpolate(x[None, None], size=x.shape, mode="bicubic"),
    "bicubic by scales": lambda x, n: F.interpolate(x[None, None], scale_factor=(2, 0.75), mode="bicubic"),
    "trilinear": lambda x, n: F.interpolate(x[None, None, None], size=(2, 3, n), mode="trilinear"),
    "area": lambda x, n: F.interpolate(x[None, None], size=(2, n // 2), mode="area"),
    "by the size of another": lambda x, n: F.interpolate(x[None, None], size=x.T.shape, mode="bilinear") + x.T,
    "by a recomputed scale": lambda x, n: F.interpolate(x[None], scale_factor=0.5, recompute_scale_factor=True),
    "Upsample": lambda x, n: torch.nn.Upsample(scale_factor=2)(x[None]),
}


def captures(function: Function, backend: Any, *, gradient: bool = False, **tolerances: float) -> int:
    """How many captures all sizes take. Each result is compared with eager's, which it is to the bit without `tolerances`."""
    optimized = minidynamo.optimize(backend)(function)
    before = minidynamo.stats()["captured"]
    for size in SIZES:
        x = torch.linspace(-1.0, 1.0, 3 * size).view(3, size).requires_grad_(gradient)
        torch.testing.assert_close(optimized(x, size), function(x, size), **tolerances or {"rtol": 0, "atol": 0})
    return minidynamo.stats()["captured"] - before


def check(function: Function) -> None:
    assert captures(function, "eager") == 2
    minidynamo.reset()
    assert captures(function, "aot_eager", gradient=True) == 2


@pytest.mark.parametrize("name", INTEGERS)
def test_integers(name: str) -> None:
    check(INTEGERS[name])


@pytest.mark.parametrize("name", FLOATS)
def test_beside_tensors(name: str) -> None:
    check(FLOATS[name])


@pytest.mark.parametrize("name", DECISIONS)
def test_decisions(name: str) -> None:
    check(DECISIONS[name])


@pytest.mark.parametrize("name", LEAVING)
def test_leaving(name: str) -> None:
    check(LEAVING[name])


@pytest.mark.parametrize("name", ITEMS)
def test_items(name: str) -> None:
    check(ITEMS[name])


def test_an_item_that_is_out_of_range() -> None:
    optimized = minidynamo.optimize("eager")(lambda x, n: x[n] + 1)
    for n in (3, 4, -2, 5):
        assert torch.equal(optimized(torch.arange(8), n), torch.arange(8)[n] + 1)
    for n in (8, -9):
        with pytest.raises(IndexError, match=f"index {n} is out of bounds for dimension 0 with size 8"):
            optimized(torch.arange(8), n)


@pytest.mark.parametrize("name", INTERPOLATIONS)
def test_interpolation(name: str) -> None:
    assert captures(INTERPOLATIONS[name], "eager") == 2
    minidynamo.reset()
    # AOTAutograd computes them of simpler operators, and of some takes sizes as they are.
    captures(INTERPOLATIONS[name], "aot_eager", gradient=True, rtol=1e-5, atol=1e-5)


def random_expression(rng: random.Random, depth: int) -> str:
    """An expression of n, m (ints, sizes) and constants whose value is an int or a float."""
    if depth == 0:
        return rng.choice(["n", "m", "n", "m", "2", "3", "0.5", "0.1", "1.75", "-4", "1e3"])
    a, b = random_expression(rng, depth - 1), random_expression(rng, rng.randrange(depth))
    forms = ["{a} + {b}", "{a} - {b}", "{a} * {b}", "{a} / {b}", "{a} / {b}", "-({a})", "abs({a})", "min({a}, {b})", "max({a}, {b})"]
    forms += ["int({a})", "round({a})", "float({a})", "math.floor({a})", "math.ceil({a})", "math.trunc({a})", "math.sqrt(abs({a}))"]
    forms += ["abs({a}) ** 0.5", "abs({a}) ** -1", "({a} if {a} > {b} else {b})", "({a} if {a} == {b} else -1)", "({a}) // 2"]
    return "(" + rng.choice(forms).format(a=a, b=b) + ")"


def outcome(function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        number, result = function(*arguments)
    except (ArithmeticError, ValueError, RuntimeError) as error:
        return type(error), str(error)
    return type(number), repr(number), result.tolist()


@pytest.mark.parametrize("seed", range(150))
def test_generated_expression(seed: int) -> None:
    rng = random.Random(seed)
    expression = random_expression(rng, 1 + seed % 4)
    scope: dict[str, Any] = {"math": math, "torch": torch}
    size = rng.choice(["y", "y.shape[0]"])
    exec(f"def f(x, n, y):\n    m = {size}\n    v = {expression}\n    return v, x[: min(abs(int(v)), 6)] * v", scope)
    for dynamic in (None, True):
        minidynamo.reset()
        optimized = minidynamo.optimize("eager", dynamic=dynamic)(scope["f"])
        for n, m in ((4, 6), (5, 9), (7, 3), (12, 5), (3, 2), (2, 31), (64, 8), (-3, 7), (0, 4)):
            arguments = torch.arange(6.0) + 1, n, m if size == "y" else torch.empty(m)
            assert outcome(optimized, *arguments) == outcome(scope["f"], *arguments), f"{expression}, n = {n}, m = {m}"


def test_the_graph_computes_with_floats() -> None:
    graphs = []

    def backend(graph_module: torch.fx.GraphModule, inputs: list[Any]) -> Callable[..., Any]:
        graphs.append(graph_module)
        return graph_module.forward

    optimized = minidynamo.optimize(backend, dynamic=True)(lambda x: x / math.sqrt(x.shape[1]))
    optimized(torch.ones(3, 5))
    targets = [node.target for node in graphs[0].graph.nodes if node.op == "call_function"]
    assert targets == [torch.ops.aten.sym_size.int, torch.sym_float, torch.sym_sqrt, operator.truediv]


def test_a_decision_is_a_guard() -> None:
    optimized = minidynamo.optimize("eager", dynamic=True)(lambda x, n: x + 1 if n / 2 > 2 else x - 1)
    for n in (6, 8, 5, 4, 2, 3):
        assert torch.equal(optimized(torch.zeros(3), n), torch.full((3,), 1.0 if n / 2 > 2 else -1.0))
    entries = minidynamo.debug.cache_entries(optimized)
    assert len(entries) == 2
    assert any("2.0 < L['n']/2.0" in guard for guard in entries[0].guards)


def test_division_by_a_number_that_becomes_zero() -> None:
    optimized = minidynamo.optimize("eager")(lambda x, n: x * (1 / n))
    for n in (3, 4, 5):
        assert torch.equal(optimized(torch.ones(2), n), torch.ones(2) * (1 / n))
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        optimized(torch.ones(2), 0)


def test_numbers_too_large_for_a_float() -> None:
    def f(x: torch.Tensor, n: int) -> tuple[torch.Tensor, int, float]:
        return x + 1, int(n / 3), n * 0.5

    optimized = minidynamo.optimize("eager")(f)
    for n in (6, 7, 8, 2**53 + 1, 2**60 + 1, 9, 10**400, -7):
        if n > 2**1000:
            with pytest.raises(OverflowError):
                optimized(torch.ones(2), n)
            continue
        assert optimized(torch.ones(2), n)[1:] == f(torch.ones(2), n)[1:]


def test_behind_a_break() -> None:
    def f(x: torch.Tensor, n: int) -> torch.Tensor:
        scale = n * 0.25
        minidynamo.graph_break()
        return x * scale

    optimized = minidynamo.optimize("eager")(f)
    before = minidynamo.stats()["captured"]
    for n in range(3, 12):
        assert torch.equal(optimized(torch.ones(2), n), f(torch.ones(2), n))
    assert minidynamo.stats()["captured"] - before <= 4


@pytest.mark.slow
@pytest.mark.parametrize("name", ["int of a product", "round", "a view"])
def test_integers_with_inductor(name: str) -> None:
    assert captures(INTEGERS[name], "inductor") <= 3


@pytest.mark.slow
@pytest.mark.parametrize("name", ["root", "quotient of sizes", "power"])
def test_floats_with_inductor(name: str) -> None:
    assert captures(FLOATS[name], "inductor", rtol=1e-5, atol=1e-6) <= 3
