# graphs: 2
"""A set comprehension of labels read from a tensor."""

import torch


def f(x, labels):
    shifted = labels + 1
    present = {int(label) for label in shifted.tolist() if label > 1}
    return x * len(present), sorted(present)


def inputs():
    return torch.randn(2), torch.tensor([0, 1, 1, 3])
