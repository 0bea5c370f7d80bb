# graphs: 2
"""An iterator made outside is advanced inside; the second call goes on where the first one stopped."""

import torch

NUMBERS = iter([1, 2, 3, 4, 5])


def f(x, numbers):
    first = next(numbers)
    second = next(numbers)
    return x * first + second


def inputs():
    return torch.randn(2), NUMBERS
