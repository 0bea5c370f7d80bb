# graphs: 1
"""Assignment to slices, to a mask, with index tensors and augmented."""

import torch


def f(x, index):
    y = torch.zeros(4, 3)
    y[0] = x
    y[1:3, 1] = 5.0
    y[y > 4] = -1.0
    y[index] += 2
    y[..., -1] *= 3
    return y


def inputs():
    return torch.randn(3), torch.tensor([0, 3])
