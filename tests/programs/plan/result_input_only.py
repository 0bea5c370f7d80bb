# graphs: 1
"""The input itself is returned beside something computed."""

import torch


def f(x, data):
    return x, data, x + 1


def inputs():
    return torch.randn(2), {"k": [1]}
