# graphs: 1
"""Branches that return tensors in tuples and dicts."""

import torch


def sums(a, b):
    return {"sum": a + b, "parts": (a * 2, [b * 3])}


def differences(a, b):
    return {"sum": a - b, "parts": (b * 2, [a * 3])}


def f(x):
    made = torch.cond(x.mean() > 0, sums, differences, (x, x.cos()))
    return made["sum"] * 2, made["parts"][1][0], type(made["parts"]).__name__


def inputs():
    torch.manual_seed(0)
    return (torch.rand(3, 4, requires_grad=True),)


def negative():
    torch.manual_seed(0)
    return ((-torch.rand(3, 4)).requires_grad_(),)


calls = [inputs, negative, inputs]
