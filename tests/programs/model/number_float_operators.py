# graphs: 1
"""Float arithmetic, math functions, rounding and conversion."""

import math

import torch


def f(x, s):
    a = math.sqrt(s) + math.pi - math.floor(s) + round(s, 1)
    b = float("1.5") + int(s) + s.is_integer() + math.log(s, 2)
    return x * a + b, math.isclose(a, b), f"{s:.3f}"


def inputs():
    return torch.randn(3), 2.25
