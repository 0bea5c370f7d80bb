# graphs: 1
"""Arrays of a module's names and of an object, read and written."""

import numpy as np
import torch

WEIGHTS = np.linspace(0.0, 1.0, 12).reshape(3, 4)


class Counter:
    def __init__(self):
        self.seen = np.zeros(4)


COUNTER = Counter()


def f(x):
    COUNTER.seen += WEIGHTS.sum(axis=0)
    scaled = np.float32(2) * WEIGHTS.astype(np.float32)
    return torch.from_numpy(scaled) * x, COUNTER.seen.copy(), scaled[0, 1], [row.shape for row in scaled]


def inputs():
    return (torch.randn(3, 4),)
