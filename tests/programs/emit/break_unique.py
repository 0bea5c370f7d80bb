# graphs: 2
"""Classes and their counts from labels, as a list of as many numbers as there are."""

import torch


def f(labels):
    shifted = labels + 1
    classes, counts = torch.unique(shifted, return_counts=True)
    names = [str(label) for label in classes.tolist()]
    return classes * 10, counts / counts.sum(), names


def inputs():
    return (torch.tensor([2, 0, 2, 1, 0, 2]),)
