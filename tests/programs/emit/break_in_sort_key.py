# graphs: 4
"""The key function of a sort reads a tensor; the sorted order decides the rest."""

import torch


def f(tensors):
    shifted = [t + 1 for t in tensors]
    shifted.sort(key=lambda t: t.sum().item(), reverse=True)
    return torch.cat(shifted) * 2, shifted[0].shape


def inputs():
    return ([torch.ones(1), torch.full((2,), 5.0), torch.zeros(3)],)
