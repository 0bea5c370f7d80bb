# graphs: 2
"""A product after a break inside of autocast is still in bfloat16."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(x, weight):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ weight
        say("half way", y.dtype)
        z = y @ weight
    return z.dtype, z.float() + 1


def inputs():
    return torch.randn(2, 2), torch.randn(2, 2)
