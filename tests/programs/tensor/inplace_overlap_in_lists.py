# graphs: 4
"""Writes to memory that another argument shows in part, in lists and by `out=`: an error, or what the order of the writes makes of it."""

import torch


def f(x):
    messages = []
    try:
        x[1:].add_(x[:-1])
    except RuntimeError as error:
        messages.append(str(error))
    torch._foreach_add_([x, x], 1)
    y = x * 2
    torch._foreach_mul_([y[1:], y[:-1]], 2)
    try:
        torch.add(y[:-1], 1, out=y[1:])
    except RuntimeError as error:
        messages.append(str(error))
    return y + 1, messages


def inputs():
    return (torch.arange(4.0),)
