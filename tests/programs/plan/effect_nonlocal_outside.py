# graphs: 1
"""The captured function is a closure that writes a variable of its maker."""

import torch


def make():
    last = None

    def step(x):
        nonlocal last
        last = x * 2
        return last + 1

    def peek():
        return last

    return step, peek


f, peek = make()


def inputs():
    return (torch.randn(2),)


calls = [inputs]
