"""A local keeps its object alive until its frame ends, though nothing reads it any more: what else the program has may lead there by a
weak reference alone, which is made behind the end of a trace."""

import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch

import minidynamo

HELD: dict[str, Any] = {}


class Node:
    def __init__(self) -> None:
        self.factor = 3

    def scale(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.factor


@torch.compiler.disable
def reference_within(holder: dict[str, Any]) -> Any:
    return weakref.ref(holder["items"][0])


@torch.compiler.disable
def reference_to(thing: object) -> Any:
    return weakref.ref(thing)


@torch.compiler.disable
def reference_to_held() -> Any:
    return weakref.ref(HELD.pop("node"))


def method(x: torch.Tensor) -> Any:
    node = Node()
    found = weakref.WeakMethod(node.scale)
    minidynamo.graph_break()
    go = found()
    return None if go is None else go(x)


def method_without_further_break(x: torch.Tensor) -> Any:
    node = Node()
    go = weakref.WeakMethod(node.scale)()
    return None if go is None else go(x)


def weak_set(x: torch.Tensor) -> Any:
    node = Node()
    nodes = weakref.WeakSet([node])
    minidynamo.graph_break()
    return x * len(nodes)


def weak_values(x: torch.Tensor) -> Any:
    node = Node()
    nodes = weakref.WeakValueDictionary({"node": node})
    minidynamo.graph_break()
    return x * len(nodes)


def in_containers(x: torch.Tensor) -> Any:
    node = Node()
    holder = {"items": [node]}
    found = reference_within(holder)
    holder.clear()
    return x if found() is None else x * found().factor


def function_in_containers(x: torch.Tensor) -> Any:
    def scale(value: torch.Tensor) -> torch.Tensor:
        return value * 5

    holder = {"items": [scale]}
    found = reference_within(holder)
    holder.clear()
    return x if found() is None else found()(x)


def by_an_effect(x: torch.Tensor) -> Any:
    node = Node()
    HELD["node"] = node
    found = reference_to_held()
    return x if found() is None else x * found().factor


def within_a_call(x: torch.Tensor) -> Any:
    y = by_an_effect(x + 1)
    return in_containers(y) - 1


def in_a_loop(x: torch.Tensor) -> Any:
    for _ in range(3):
        node = Node()
        found = reference_to(node)
        x = x + 1 if found() is None else x * 2
    return x


def deleted(x: torch.Tensor) -> Any:
    node = Node()
    found = weakref.WeakMethod(node.scale)
    del node
    return x if found() is None else x * 2


def tensor(x: torch.Tensor) -> Any:
    y = x + 1
    found = weakref.ref(y)
    return x * (2 if found() is None else 5)


PROGRAMS = [
    method,
    method_without_further_break,
    weak_set,
    weak_values,
    in_containers,
    function_in_containers,
    by_an_effect,
    within_a_call,
    in_a_loop,
    deleted,
    tensor,
]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_locals_keep_alive(program: Callable[..., Any], backend: str) -> None:
    optimized = minidynamo.compile(program, backend=backend)
    for shift in (0.0, 0.0, 2.0):
        x, mine = ((torch.arange(3.0) + shift).requires_grad_() for _ in range(2))
        want, got = program(x), optimized(mine)
        assert torch.equal(got, want)
        want.sum().backward()
        got.sum().backward()
        assert x.grad is not None and mine.grad is not None and torch.equal(x.grad, mine.grad)
    assert not minidynamo.debug.uncaptured()


def test_with_inductor() -> None:
    x = torch.arange(3.0)
    assert torch.equal(minidynamo.compile(method)(x), method(x))


def test_nothing_outlives_the_frame() -> None:
    ends: list[str] = []

    def f(x: torch.Tensor) -> torch.Tensor:
        node = Node()
        found = reference_within({"items": [node]})
        weakref.finalize(found(), ends.append, "gone")
        return x + len(ends)

    for call in (minidynamo.compile(f, backend="eager"), f):
        ends.clear()
        assert torch.equal(call(torch.zeros(1)), torch.zeros(1)) and ends == ["gone"]
