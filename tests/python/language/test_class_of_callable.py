"""A capture of a module or of another callable object is called as its class says at that time."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

import minidynamo


def make_module() -> Any:
    class Module(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + 1

    return Module()


def make_object() -> Any:
    class Object:
        def __call__(self, x: torch.Tensor) -> torch.Tensor:
            return x + 1

    return Object()


def doubled(self: Any, x: torch.Tensor) -> torch.Tensor:
    return x * 2


class CallableObject:
    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return x * 3


@pytest.mark.parametrize("inside", [False, True], ids=["called", "called in a captured function"])
@pytest.mark.parametrize("make", [make_module, make_object])
def test_another_call_in_the_class(make: Callable[[], Any], inside: bool) -> None:
    target = make()
    kind = type(target)
    optimized = minidynamo.compile(target, backend="eager")
    call = minidynamo.compile(lambda x: optimized(x) * 10, backend="eager") if inside else lambda x: optimized(x) * 10
    x = torch.full((1,), 5.0)
    for _ in range(2):
        assert call(x).item() == 60
    before = kind.__dict__.get("__call__")
    kind.__call__ = doubled
    for _ in range(2):
        assert call(x).item() == 100
    kind.__call__ = CallableObject()
    for _ in range(2):
        assert call(x).item() == 150
    kind.__call__ = None
    with pytest.raises(TypeError, match="not callable"):
        call(x)
    if before is None:
        del kind.__call__
    else:
        kind.__call__ = before
    assert call(x).item() == 60
    other = type("Other", (kind,), {"__call__": doubled})
    target.__class__ = other
    assert call(x).item() == 100


def test_a_bound_method_stays_the_one_that_it_was() -> None:
    target = make_object()
    optimized = minidynamo.compile(target.__call__, backend="eager")
    x = torch.ones(1)
    assert optimized(x).item() == 2
    type(target).__call__ = doubled
    assert optimized(torch.full((1,), 5.0)).item() == 6
