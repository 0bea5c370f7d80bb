# graphs: 1
"""*args of tensors, summed in a loop."""

import torch


def f(*tensors):
    total = torch.zeros(3)
    for tensor in tensors:
        total = total + tensor
    return total, len(tensors)


def inputs():
    return tuple(torch.randn(3) for _ in range(4))
