# graphs: 1
"""Methods and in-place operators on set arguments."""

import torch


def f(seen, banned, x):
    seen.add(x.shape[0])
    seen.discard(100)
    seen |= {8, 9}
    seen -= banned
    banned.update([50, 60])
    banned ^= {50, 70}
    banned.remove(60)
    return x * len(seen), sorted(seen & {2, 8})


def inputs():
    return {1, 9}, {9}, torch.randn(2)
