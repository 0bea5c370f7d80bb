# graphs: 1
"""Sets: algebra, membership, comparison, frozenset."""

import torch


def f(x):
    a, b = {1, 2, 3}, {3, 4}
    a.add(5)
    a.discard(1)
    union, common, difference, either = a | b, a & b, a - b, a ^ b
    key = frozenset(common)
    return x * len(union) + sum(difference), 4 in either, common <= a, key, a.isdisjoint({9})


def inputs():
    return (torch.randn(2),)
