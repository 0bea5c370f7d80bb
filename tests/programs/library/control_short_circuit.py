# graphs: 1
"""and, or, not, chained comparisons, conditional expressions."""

import torch


def f(x, a, b):
    y = x * (a or 5) + (b and 7)
    y = y if 0 < a < 3 <= b else -y
    return y if not (a and b) else y + 1


def inputs():
    return torch.randn(3), 2, 3
