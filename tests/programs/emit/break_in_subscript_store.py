# graphs: 2
"""The value stored under a key comes from a breaking call; the key is computed after it."""

import torch


def f(x):
    cache = {}
    y = x.exp()
    cache["mean"] = int(y.mean())
    cache[f"rows{len(cache)}"] = y / cache["mean"]
    return cache


def inputs():
    return (torch.zeros(3),)
