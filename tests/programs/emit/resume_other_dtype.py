# graphs: 4
"""float32 and float64 inputs; the dtype goes into text that is printed."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(x, weight):
    y = x @ weight
    say(y.dtype)
    return y.to(torch.float32).relu()


def inputs():
    return torch.randn(2), torch.randn(2)


def double():
    return torch.randn(2, dtype=torch.float64), torch.randn(2, dtype=torch.float64)


calls = [inputs, double, inputs]
