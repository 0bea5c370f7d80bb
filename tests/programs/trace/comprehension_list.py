# graphs: 1
"""List comprehensions with conditions and two loops."""

import torch


def f(x):
    squares = [x * i for i in range(5) if i % 2]
    pairs = [a + b for a in squares for b in squares if a is not b]
    return pairs


def inputs():
    return (torch.randn(2),)
