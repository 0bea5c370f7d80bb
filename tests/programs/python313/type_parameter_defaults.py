# graphs: 1
"""Type parameters with defaults, of a function from before and its class."""
import torch


class Box[T = int]:
    def __init__(self, value: T) -> None:
        self.value = value


def double[T = torch.Tensor](value: T) -> T:
    return value * 2


def f(x):
    box = Box[torch.Tensor](double(x))
    parameter = Box.__type_params__[0]
    return box.value + 1, parameter.__name__


def inputs():
    return (torch.ones(3),)
