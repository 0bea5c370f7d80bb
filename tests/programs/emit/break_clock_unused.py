# graphs: 2
"""The time is taken around a product, and only used to be positive."""

import time

import torch


def f(x, w):
    y = x @ w
    started = time.perf_counter()
    z = y.relu()
    elapsed = time.perf_counter() - started
    return z, elapsed >= 0


def inputs():
    return torch.randn(2, 3), torch.randn(3, 2)


calls = [inputs]
