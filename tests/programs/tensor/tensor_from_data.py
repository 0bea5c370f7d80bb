# graphs: 1
"""torch.tensor and torch.as_tensor of numbers, lists and mixed types."""

import torch


def f(x):
    a = torch.tensor([1.0, 2.0, 3.0])
    b = torch.tensor(5)
    c = torch.as_tensor([[1, 2, 3], [4, 5, 6]])
    d = torch.tensor(x.shape)
    return x * a + b, c * 2, d, torch.scalar_tensor(2.5) + x


def inputs():
    return (torch.randn(3),)
