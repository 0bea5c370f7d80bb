"""Objects with a __torch_function__ of their own: what that does is the program's code, which no trace may run on the side."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode

import minidynamo

SEEN: list[str] = []


class Wrapped:
    """Stands for a tensor, and writes down what it was asked."""

    def __init__(self, value: torch.Tensor) -> None:
        self.value = value

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        SEEN.append(function.__name__)
        values = [[cls.value_of(item) for item in arg] if isinstance(arg, list) else cls.value_of(arg) for arg in args]
        return function(*values, **(kwargs or {}))

    @staticmethod
    def value_of(given: Any) -> Any:
        return given.value if isinstance(given, Wrapped) else given


class Told(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        SEEN.append(function.__name__)
        return super().__torch_function__(function, types, args, kwargs or {})


class Doubling(TorchFunctionMode):
    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        SEEN.append(function.__name__)
        result = function(*args, **(kwargs or {}))
        return result * 2 if isinstance(result, torch.Tensor) else result


@minidynamo.allow_in_graph
def allowed(value: Any) -> torch.Tensor:
    return torch.sin(value)


@minidynamo.allow_in_graph
def allowed_list(values: list[Any]) -> torch.Tensor:
    return torch.cat(values)


FUNCTIONS: dict[str, Callable[[torch.Tensor, Any], Any]] = {
    "an operator": lambda x, other: torch.sin(other) + x,
    "a function of torch.nn": lambda x, other: torch.nn.functional.relu(other) + x,
    "full_like": lambda x, other: torch.full_like(other, 3) + x,
    "equal": lambda x, other: (torch.equal(other, x), x + 1),
    "allclose": lambda x, other: (torch.allclose(other, x), x + 1),
    "a list": lambda x, other: torch.cat([x, other]),
    "allowed": lambda x, other: allowed(other) + x,
    "allowed with a list": lambda x, other: allowed_list([x, other]),
}


@pytest.mark.parametrize("make", [Wrapped, lambda value: value.as_subclass(Told)], ids=["object", "tensor"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_override_is_asked_once(name: str, make: Callable[[torch.Tensor], Any]) -> None:
    minidynamo.reset()
    function = FUNCTIONS[name]
    captured = minidynamo.compile(function, backend="eager")
    outcomes = []
    for run in (function, captured, captured):
        SEEN.clear()
        result = run(torch.ones(2), make(torch.full((2,), 0.5)))
        asked = list(SEEN)
        parts = result if isinstance(result, tuple) else (result,)
        outcomes.append((asked, [part.tolist() if isinstance(part, torch.Tensor) else part for part in parts]))
    assert outcomes[0] == outcomes[1] == outcomes[2]


@pytest.mark.parametrize("name", ["an operator", "full_like", "equal", "allowed", "allowed with a list"])
@pytest.mark.parametrize("is_inside", [False, True])
def test_a_mode_hears_of_every_call(name: str, is_inside: bool) -> None:
    minidynamo.reset()
    function = FUNCTIONS[name]

    def with_mode(x: torch.Tensor, other: torch.Tensor) -> Any:
        with Doubling():
            return function(x, other)

    x = torch.ones(2)
    captured = minidynamo.compile(with_mode if is_inside else function, backend="eager")
    captured(x, x)  # an entry from before is no answer either
    outcomes = []
    for run in (function, captured, captured):
        with Doubling() if not is_inside or run is function else torch.enable_grad():
            SEEN.clear()
            result = run(x, x)
            asked = list(SEEN)
        parts = result if isinstance(result, tuple) else (result,)
        outcomes.append((asked, [part.tolist() if isinstance(part, torch.Tensor) else part for part in parts]))
    assert outcomes[0] == outcomes[1] == outcomes[2]
