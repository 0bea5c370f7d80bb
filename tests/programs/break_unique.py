# graphs: 2
"""Classes and their counts from labels."""

import torch


def f(labels):
    shifted = labels + 1
    classes, counts = torch.unique(shifted, return_counts=True)
    return classes * 10, counts / counts.sum()


def inputs():
    return (torch.tensor([2, 0, 2, 1, 0, 2]),)
