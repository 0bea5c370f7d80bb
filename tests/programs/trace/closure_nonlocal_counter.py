# graphs: 1
"""nonlocal: an inner function changes a variable of the captured one."""

import torch


def f(x):
    count = 0

    def step(y):
        nonlocal count
        count += 1
        return y * count

    for _ in range(3):
        x = step(x)
    return x, count


def inputs():
    return (torch.randn(3),)
