# graphs: 1
"""Small numpy arrays of constants are computed with, and become tensors."""

import numpy as np
import torch


def f(x):
    rates = np.linspace(0, 1, 4)
    rates[0] = 0.5
    sizes = np.array([[1, 2], [3, 4]])
    total = int(np.prod(x.shape)) + int(sizes.sum(axis=0)[1]) + sizes.shape[0]
    table = torch.from_numpy(np.arange(4, dtype=np.float32))
    return x * total + table * torch.tensor(rates.tolist()), float(np.float32(3) * 2), (sizes * 2).tolist()


def inputs():
    return (torch.randn(3, 4),)
