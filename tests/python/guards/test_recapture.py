"""State that a capture saw changes afterwards: the next call returns what eager returns, whether that takes a new capture or not."""

import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest
import torch

import minidynamo

X = torch.linspace(-1.0, 1.0, 9).reshape(3, 3)
FACTOR = 3


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)
        self.scale = 2
        self.flags = {"bias": 1}
        self.steps = [1, 2]

    def helper(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.scale

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.helper(self.linear(x)) + self.flags["bias"] + sum(self.steps)


def with_default(x: torch.Tensor, k: int = 2) -> torch.Tensor:
    return x * k


def plus_one(x: torch.Tensor) -> torch.Tensor:
    return x + 1


def plus_two(x: torch.Tensor) -> torch.Tensor:
    return x + 2


@pytest.fixture
def model() -> Iterator[Model]:
    helper = Model.helper
    yield Model()
    Model.helper = helper  # type: ignore[method-assign]


def agrees(function: Callable[..., Any], *arguments: Any) -> None:
    optimized = minidynamo.optimize("eager", fullgraph=True)(function)
    with torch.no_grad():
        torch.testing.assert_close(optimized(*arguments), function(*arguments), rtol=0, atol=0)


CHANGES: dict[str, Callable[[Model], object]] = {
    "attribute": lambda model: setattr(model, "scale", 5),
    "dict item": lambda model: model.flags.update(bias=7),
    "list item": lambda model: model.steps.append(9),
    "method of the class": lambda model: setattr(Model, "helper", lambda self, x: x - self.scale),
    "method of the instance": lambda model: setattr(model, "helper", lambda x: x * 11),
    "forward of the instance": lambda model: setattr(model, "forward", lambda x: x * 100),
    "submodule": lambda model: setattr(model, "linear", torch.nn.Linear(3, 3, bias=False)),
    "parameter": lambda model: setattr(model.linear, "bias", torch.nn.Parameter(torch.ones(3))),
    "parameter removed": lambda model: setattr(model.linear, "bias", None),
    "hook": lambda model: model.linear.register_forward_hook(lambda module, args, output: output * 3),
    "class of the instance": lambda model: setattr(model.linear, "__class__", type("Other", (torch.nn.Linear,), {})),
}


@pytest.mark.parametrize("change", CHANGES)
def test_changes_of_a_module(model: Model, change: str) -> None:
    agrees(lambda x: model(x), X)

    def call(x: torch.Tensor) -> torch.Tensor:
        return model(x)

    agrees(call, X)
    CHANGES[change](model)
    agrees(call, X)
    optimized = minidynamo.optimize("eager")(model)
    with torch.no_grad():
        assert torch.equal(optimized(X), model(X))


def test_global(monkeypatch: pytest.MonkeyPatch) -> None:
    def call(x: torch.Tensor) -> torch.Tensor:
        return x * FACTOR

    agrees(call, X)
    monkeypatch.setitem(globals(), "FACTOR", 4)
    agrees(call, X)


def test_parts_of_a_function(monkeypatch: pytest.MonkeyPatch) -> None:
    def call(x: torch.Tensor) -> torch.Tensor:
        return with_default(plus_one(x))

    agrees(call, X)
    monkeypatch.setattr(with_default, "__defaults__", (7,))
    agrees(call, X)
    monkeypatch.setattr(plus_one, "__code__", plus_two.__code__)
    agrees(call, X)


def test_containers_as_arguments() -> None:
    def call(x: torch.Tensor, items: Any) -> torch.Tensor:
        return x * sum(items) + len(items)

    for items in ([1, 2], [1, 3], [1, 2, 3], (1, 2), {1: 0, 5: 0}, []):
        agrees(call, X, items)


def test_aliases() -> None:
    def call(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y if x is not y else x * 5

    y = X + 1
    for arguments in ((X, y), (X, X), (y, y), (y, X)):
        agrees(call, *arguments)


def test_one_object_where_two_were_written() -> None:
    class Box:
        value: Any = None

    def call(a: Box, b: Box, x: torch.Tensor) -> torch.Tensor:
        a.value = x
        b.value = x + 1
        return a.value * 1

    agrees(call, Box(), Box(), X)
    one = Box()
    agrees(call, one, one, X)
    assert torch.equal(one.value, X + 1)


def test_equal_layers_share_an_entry() -> None:
    graphs: list[torch.fx.GraphModule] = []

    def backend(graph_module: torch.fx.GraphModule, example_inputs: list[torch.Tensor]) -> Any:
        graphs.append(graph_module)
        return graph_module.forward

    layers = [torch.nn.Linear(3, 3) for _ in range(3)]
    for layer in layers:
        assert torch.equal(minidynamo.optimize(backend)(layer)(X), layer(X))
    assert len(graphs) == 1


def test_grad_mode() -> None:
    x = X.clone().requires_grad_()
    optimized = minidynamo.optimize("eager")(lambda x: x * 2)
    with torch.no_grad():
        assert not optimized(x).requires_grad
    assert optimized(x).requires_grad


def test_level_of_a_logger() -> None:
    log = logging.getLogger("minidynamo.tests.level")

    def call(x: torch.Tensor) -> torch.Tensor:
        log.debug("never shown: %s", 1)
        return x + (5 if log.isEnabledFor(logging.DEBUG) else 1)

    agrees(call, X)
    optimized = minidynamo.optimize("eager")(call)
    log.setLevel(logging.DEBUG)
    try:
        assert torch.equal(optimized(X), X + 5)
    finally:
        log.setLevel(logging.NOTSET)


@pytest.mark.parametrize(
    "make, other",
    [
        (lambda: list[int], lambda: list[str]),
        (lambda: dict[str, list[int]], lambda: dict[str, list[float]]),
        (lambda: int | str, lambda: int | float),
        (lambda: int | list[int], lambda: int | list[str]),
    ],
)
def test_types_that_are_written_anew_are_known_by_their_parts(make: Callable[[], Any], other: Callable[[], Any]) -> None:
    def f(x: torch.Tensor, kind: Any) -> torch.Tensor:
        return x + len(kind.__args__) * (kind == make())

    compiled = minidynamo.optimize("eager", fullgraph=True)(f)
    for _ in range(3):
        torch.testing.assert_close(compiled(X, make()), f(X, make()))
    assert minidynamo.stats()["entries"] == 1
    torch.testing.assert_close(compiled(X, other()), f(X, other()))
    torch.testing.assert_close(compiled(X, make()), f(X, make()))
    assert minidynamo.stats()["entries"] == 2


def test_a_type_written_anew_is_another_object() -> None:
    def f(x: torch.Tensor, a: Any, b: Any) -> torch.Tensor:
        return x + (a is b)

    compiled = minidynamo.optimize("eager", fullgraph=True)(f)
    one = list[int]
    for a, b in ((list[int], list[int]), (one, one), (list[int], one), (one, list[int])):
        torch.testing.assert_close(compiled(X, a, b), f(X, a, b))


@pytest.mark.parametrize("make", [threading.Lock, threading.RLock, lambda: numpy.ones(2), lambda: torch.finfo(torch.float32)])
def test_objects_that_are_new_at_each_call_are_known_by_their_type(make: Callable[[], Any]) -> None:
    def f(x: torch.Tensor, one: Any, other: Any) -> torch.Tensor:
        return x + (one is other) + 2 * (type(one) is type(other)) + isinstance(one, int)

    compiled = minidynamo.optimize("eager", fullgraph=True)(f)
    same = make()
    for one, other in ((make(), make()), (make(), make()), (same, make()), (same, same), (make(), 3), (same, make())):
        torch.testing.assert_close(compiled(X, one, other), f(X, one, other))
    assert minidynamo.stats()["entries"] == 3


def test_the_format_of_another_type_is_another() -> None:
    def f(x: torch.Tensor, kind: Any) -> torch.Tensor:
        return x.clamp(max=float(kind.max)) * kind.bits

    compiled = minidynamo.optimize("eager", fullgraph=True)(f)
    for kind in (torch.float16, torch.float32, torch.float16):
        torch.testing.assert_close(compiled(X * 1e5, torch.finfo(kind)), f(X * 1e5, torch.finfo(kind)))
    assert minidynamo.stats()["entries"] == 2


def test_clipping_gradients_groups_them_by_device_and_type() -> None:
    def f(parameters: list[torch.Tensor]) -> torch.Tensor:
        return torch.nn.utils.clip_grad_norm_(parameters, 1.0)

    def parameters() -> list[torch.Tensor]:
        made = [torch.nn.Parameter(torch.ones(3)), torch.nn.Parameter(torch.ones(2, 2, dtype=torch.float64))]
        for one in made:
            one.grad = torch.full_like(one, 2.0)
        return made

    compiled = minidynamo.optimize("eager")(f)
    for _ in range(3):
        mine, theirs = parameters(), parameters()
        torch.testing.assert_close(compiled(mine), f(theirs))
        torch.testing.assert_close([one.grad for one in mine], [one.grad for one in theirs])
        print(minidynamo.debug.graph_breaks(), minidynamo.stats())
