# graphs: 1
"""NumPy's functions between tensors: arrays that share a tensor's memory, and one that is made to be filled."""

import numpy as np
import torch


def centred(a):
    shifted = np.maximum(a - a.max(axis=-1, keepdims=True), -1)
    return np.where(shifted < 0, shifted * 2, a)


def f(x):
    a = x.numpy()
    made = np.zeros_like(a)
    for i in range(a.shape[0]):
        made[i] = centred(a[i])
    a += 1
    return torch.from_numpy(made) + x, made.max(axis=0), a[0, 1], a.dtype


def inputs():
    return (torch.arange(12.0).reshape(3, 4) / 8,)
