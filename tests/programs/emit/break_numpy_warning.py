# graphs: 2
"""An operation on NumPy's scalars that gives a warning runs in Python."""

import numpy as np
import torch


def f(x, a):
    y = x * 2
    return y, np.float64(1) / a, (y + 1).sum()


def inputs():
    return torch.ones(2), np.float64(0)
