# graphs: 1
"""autocast to bfloat16 on the CPU, with a part that opts out."""

import torch


def f(x, weight):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        a = x @ weight
        with torch.autocast("cpu", enabled=False):
            b = x @ weight
    return a, b, a.dtype, torch.is_autocast_enabled("cpu")


def inputs():
    return torch.randn(2, 3), torch.randn(3, 3)
