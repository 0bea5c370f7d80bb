# graphs: 1
# whole: no
"""An exception in a method that a class body calls leaves the function."""

import torch


def table(t):
    return {"a": t}["b"]


def f(x):
    y = x + 1

    class Outer:
        first = y * 2

        class Inner:
            second = table(y)

    return y


def inputs():
    return (torch.randn(2),)


calls = [inputs]
