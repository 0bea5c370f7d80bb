# graphs: 1
"""A registry in a global dict gets a tensor under a key that was there before."""

import torch

REGISTRY = {"last": None, "names": []}


def f(x):
    REGISTRY["last"] = x + 1
    REGISTRY["names"].append("f")
    return x * len(REGISTRY)


def inputs():
    return (torch.randn(2),)


calls = [inputs]
