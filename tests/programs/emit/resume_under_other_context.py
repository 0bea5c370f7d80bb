# graphs: 4
"""The break is in the block of a manager that an argument chooses."""

import contextlib

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(x, frozen):
    with torch.no_grad() if frozen else contextlib.nullcontext():
        y = x * 2
        say("grad", torch.is_grad_enabled())
        z = y + x
    return z, z.requires_grad


def inputs():
    return torch.randn(2, requires_grad=True), True


def trained():
    return torch.randn(2, requires_grad=True), False


calls = [inputs, trained, inputs]
