# graphs: 1
"""Properties: T, mT, shape, ndim, dtype, device, is_cuda, requires_grad, grad_fn's absence, itemsize, names of dims."""

import torch


def f(x):
    facts = (x.ndim, x.dtype, x.device.type, x.is_cuda, x.requires_grad, x.is_leaf, x.itemsize, x.nbytes, x.layout)
    return x.T @ x.mT.T + x.shape[1], facts, x.grad is None


def inputs():
    return (torch.randn(3, 3),)
