# graphs: 1
"""Integer tensors: bits, remainders, bincount of known length, cumulative maximum."""

import torch


def f(n):
    return n % 3, n << 1, n & 5, ~n, -n // 2, n.remainder(4), n.cummax(0).values, torch.bitwise_xor(n, 7), n.float().mean()


def inputs():
    return (torch.tensor([5, 3, 8, 1]),)
