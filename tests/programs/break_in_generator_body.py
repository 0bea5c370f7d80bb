# graphs: 4
"""A generator function prints before it yields; the loop that consumes it computes."""

import torch


def scales(n):
    for k in range(n):
        print("yielding", k)
        yield k + 1
    print("exhausted")


def f(x):
    y = x + 1
    for scale in scales(2):
        y = y * scale
    return y.neg()


def inputs():
    return (torch.randn(2),)


calls = [inputs]
