# graphs: 1
"""Sizes, dtypes, devices, strides and numbers of elements as results."""

import torch


def f(x):
    y = (x @ x.T).to(torch.float64)
    return y, y.shape, x.dtype, y.device, y.stride(), y.numel(), y.is_contiguous(), x.size(-1), y.dim()


def inputs():
    return (torch.randn(2, 3),)
