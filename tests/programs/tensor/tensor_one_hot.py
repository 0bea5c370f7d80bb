# graphs: 1
"""one_hot with the number of classes given: the result's shape does not depend on data."""

import torch
import torch.nn.functional as F


def f(index):
    return F.one_hot(index, 4) * 2, F.one_hot(index, num_classes=5).to(torch.float32)


def inputs():
    return (torch.tensor([[0, 3], [1, 2]]),)
