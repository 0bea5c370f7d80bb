# graphs: 2
"""A product after a break inside of autocast is still in bfloat16."""

import torch


def f(x, weight):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ weight
        print("half way", y.dtype)
        z = y @ weight
    return z.dtype, z.float() + 1


def inputs():
    return torch.randn(2, 2), torch.randn(2, 2)
