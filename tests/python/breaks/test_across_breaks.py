"""Values that are alive at a graph break go on behind it: captured, and once, not once for each value that is not used."""

import collections
import io
import threading
from collections.abc import Callable
from contextlib import redirect_stderr
from typing import Any

import numpy
import pytest
import torch

import minidynamo
from minidynamo import graph_break

LAYERS = torch.nn.ModuleList([torch.nn.Linear(3, 3) for _ in range(12)])


class Counted:
    """A backend that counts graphs."""

    def __init__(self) -> None:
        self.graphs = 0

    def __call__(self, graph_module: torch.fx.GraphModule, example_inputs: list[torch.Tensor]) -> Callable[..., Any]:
        self.graphs += 1
        run: Callable[..., Any] = graph_module.forward
        return run


def graphs_of(function: Callable[..., Any], *arguments: Any, calls: int = 3) -> int:
    """Graphs of the first call; the others, with other numbers in the tensors, need none, and all are what eager is."""
    backend = Counted()
    compiled = minidynamo.optimize(backend)(function)
    for call in range(calls):
        x = torch.arange(6.0).reshape(2, 3) + call
        expected = function(x, *arguments)
        said = io.StringIO()
        with redirect_stderr(said):
            actual = compiled(x, *arguments)
        assert "recompile limit" not in said.getvalue()
        torch.testing.assert_close(actual, expected)
        if call == 0:
            first = backend.graphs
    assert backend.graphs == first
    return first


def enumerated(x: torch.Tensor) -> torch.Tensor:
    for _i, layer in enumerate(LAYERS):
        x = layer(x)
        graph_break()
    return x + 1


def zipped(x: torch.Tensor) -> torch.Tensor:
    for _number, layer in zip(range(100), LAYERS):
        x = layer(x)
        graph_break()
    return x + 1


def items(x: torch.Tensor, layers: dict[str, Any]) -> torch.Tensor:
    for _name, layer in layers.items():
        x = layer(x)
        graph_break()
    return x + 1


def nested(x: torch.Tensor) -> torch.Tensor:
    for _i, (layer, other) in enumerate(zip(LAYERS, list(LAYERS))):
        x = layer(x) + other(x)
        graph_break()
    return x + 1


@pytest.mark.parametrize("function", [enumerated, zipped, nested])
def test_numbers_that_nobody_asks_for_are_not_guarded(function: Callable[..., Any]) -> None:
    assert graphs_of(function) == 3  # up to the first break, from one to the next, behind the last


def test_keys_that_nobody_asks_for_are_not_guarded() -> None:
    assert graphs_of(items, {f"layer {i}": layer for i, layer in enumerate(LAYERS)}) == 3


def test_numbers_that_are_asked_for_are_right() -> None:
    def f(x: torch.Tensor, start: int) -> torch.Tensor:
        for i, value in enumerate([1.0, 2.0, 3.0], start):
            x = x * i + value
            graph_break()
        return x

    assert graphs_of(f, 0) == 3
    assert graphs_of(f, 7) == 3


def test_several_items_in_one_graph_behind_a_break() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        pairs = enumerate([1.0, 2.0, 3.0, 4.0], 5)
        i, value = next(pairs)
        x = x * i + value
        graph_break()
        for i, value in pairs:
            x = x * i + value
        return x

    assert graphs_of(f) == 2


def test_an_enumerate_that_is_asked_in_both_ways() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        pairs = enumerate([1.0, 2.0, 3.0, 4.0, 5.0])
        next(pairs)
        graph_break()
        x = x + next(pairs)[0]
        for i, value in pairs:
            x = x * i + value
            break
        graph_break()
        return x + torch.tensor([float(i) for i, _ in pairs])[1]

    assert graphs_of(f) == 2


def test_the_end_of_the_shorter_part_takes_an_item_of_the_longer() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        long = iter([1.0, 2.0, 3.0, 4.0])
        pairs = zip(long, [5.0, 6.0])
        next(pairs)
        graph_break()
        for a, b in pairs:
            x = x * a + b
        return x + next(long)

    assert graphs_of(f) == 1


def test_a_list_that_grows_while_a_loop_walks_over_it() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        values = [1.0, 2.0]
        for i, value in enumerate(values):
            x = x * value
            if len(values) < 4:
                values.append(3.0 + i)
            graph_break()
        return x

    graphs_of(f)


def test_an_item_of_the_wrong_length() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        pairs = enumerate([1.0, 2.0])
        next(pairs)
        graph_break()
        try:
            for a, b, c in pairs:
                x = x + a + b + c
        except ValueError as error:
            x = x + len(str(error))
        return x

    graphs_of(f)


def test_each_place_of_a_callee_has_a_limit_of_its_own() -> None:
    def callee(x: torch.Tensor) -> torch.Tensor:
        x = x + 1
        graph_break()
        x = x * 2
        graph_break()
        x = x + 3
        graph_break()
        x = x * 4
        graph_break()
        x = x + 5
        graph_break()
        x = x * 6
        graph_break()
        x = x + 7
        graph_break()
        x = x / 8
        graph_break()
        x = x + 9
        graph_break()
        x = x / 10
        graph_break()
        return x + 11

    def f(x: torch.Tensor) -> torch.Tensor:
        return callee(x) * 2

    assert graphs_of(f) == 11


def test_a_recursion_with_breaks_shares_a_limit() -> None:
    """Each depth is another place to go on at; there is a bound to how many are captured."""

    def down(x: torch.Tensor, depth: int) -> torch.Tensor:
        if depth == 0:
            graph_break()
            return x + 1
        return down(x * 1.01, depth - 1) + 1

    backend = Counted()
    compiled = minidynamo.optimize(backend)(down)
    with redirect_stderr(io.StringIO()):
        for depth in range(1, 100):
            x = torch.ones(2)
            torch.testing.assert_close(compiled(x, depth), down(x, depth))
    assert backend.graphs < 100


ORDERED = collections.OrderedDict(a=1.0, b=2.0, c=3.0)


def test_views_of_an_ordered_dict() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        own = collections.OrderedDict(d=4.0, e=5.0)
        keys, values, items = ORDERED.keys(), own.values(), own.items()
        x = x + 1
        graph_break()
        own["f"] = 6.0
        is_right = isinstance(keys, type(ORDERED.keys())) and list(keys) == ["a", "b", "c"] and list(items)[2] == ("f", 6.0)
        return x * sum(values) + is_right

    assert graphs_of(f) == 2


def test_views_of_a_dict() -> None:
    given = {"a": 1.0, "b": 2.0}

    def f(x: torch.Tensor, keys: Any, items: Any) -> torch.Tensor:
        own = {"d": 4.0, "e": 5.0}
        values = own.values()
        x = x + 1
        graph_break()
        own["f"] = 6.0
        is_right = list(keys) == ["a", "b"] and ("b", 2.0) in items and len(items) == 2
        return x * sum(values) + is_right

    assert graphs_of(f, given.keys(), given.items()) == 2


@pytest.mark.parametrize("walk", [lambda d: d, lambda d: d.keys(), lambda d: d.values(), lambda d: d.items()])
def test_a_walk_over_an_ordered_dict(walk: Callable[[Any], Any]) -> None:
    def f(x: torch.Tensor, given: Any) -> torch.Tensor:
        own = collections.OrderedDict(d=4.0, e=5.0)
        said = []
        for one in walk(given):
            x = x + 1
            for other in walk(own):
                x = x * 2
                graph_break()
                said.append((one, other))
        return x + len(str(said))

    assert graphs_of(f, ORDERED) >= 2


def test_an_ordered_dict_that_changes_under_a_walk() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        own = collections.OrderedDict(d=4.0, e=5.0)
        try:
            for key in own:
                x = x + own[key]
                graph_break()
                own["f"] = 1.0
        except RuntimeError as error:
            x = x + len(str(error))
        return x

    graphs_of(f)


def test_formats_of_numbers() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        real, whole = torch.finfo(x.dtype), torch.iinfo(torch.int8)
        x = x + 1
        graph_break()
        return x.clamp(max=real.max, min=whole.min) + real.bits

    assert graphs_of(f) == 2


def test_arrays_and_locks_are_passed_on() -> None:
    class Found:
        pass

    def f(x: torch.Tensor, make: Callable[[], Any]) -> tuple[torch.Tensor, Any]:
        kept = make()
        x = x + 1
        graph_break()
        x = x * 2
        return x, kept

    backend = Counted()
    compiled = minidynamo.optimize(backend)(f)
    for make in (lambda: numpy.ones(2), threading.Lock, Found):
        make = minidynamo.disable(make)
        backend.graphs = 0
        for _ in range(4):
            x, kept = compiled(torch.ones(2), make)
            assert torch.equal(x, torch.full((2,), 4.0)) and type(kept) is type(make())
        assert backend.graphs <= 3


def test_a_generator_ends_with_the_frame_that_holds_it() -> None:
    """Its `finally` runs after what that frame has written, and before what its caller writes."""
    history: list[Any] = []

    def talks() -> Any:
        try:
            yield 1
        finally:
            history.append("ended")

    def inner() -> None:
        begun = talks()
        next(begun)
        graph_break()
        history.append("inner")

    def outer() -> None:
        inner()
        history.append("outer")

    captured = minidynamo.optimize("eager")(outer)
    for _ in range(3):
        history.clear()
        captured()
        assert history == ["inner", "ended", "outer"]
