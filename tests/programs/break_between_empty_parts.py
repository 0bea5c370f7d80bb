# graphs: 2
"""Between two breaks nothing is computed with tensors, only lists change."""

import torch


def f(x):
    log = []
    y = x + 1
    print("one")
    log.append(1)
    log.extend(range(2))
    print("two", log)
    log[0] = "changed"
    print("three")
    return y * len(log), log


def inputs():
    return (torch.randn(2),)
