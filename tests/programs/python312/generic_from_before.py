# graphs: 1
"""Generic functions and classes of the module, with bounds and constraints, which a call uses and asks about."""

import torch


class Scale[T: (int, float)]:
    def __init__(self, factor: T) -> None:
        self.factor = factor

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.factor


class Shifted[T: float](Scale[T]):
    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return super().__call__(x) + 1


def apply[T, U](function: T, value: U) -> U:
    return function(value)


type Factor = int | float


def f(x, factor: Factor):
    y = apply(Scale(factor), x)
    y = apply(Shifted[float](factor), y)
    (bounded,) = Shifted.__type_params__
    return y, bounded.__name__, isinstance(Shifted(1), Scale), Factor.__name__


def inputs():
    return torch.linspace(-1.0, 1.0, 5), 3
