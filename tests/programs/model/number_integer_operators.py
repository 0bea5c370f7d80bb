# graphs: 1
"""Integer arithmetic, shifts and bits feed tensor operations."""

import torch


def f(x, n):
    a = (n << 3) | 5
    b = (a ^ n) & 0xFF
    c = -b // 3 + b % 7 - ~n
    d, e = divmod(b, 4)
    return x * c + d - e + pow(n, 3, 5) + abs(-n) + n.bit_length()


def inputs():
    return torch.randn(3), 6
