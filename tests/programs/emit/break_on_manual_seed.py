# graphs: 2
"""The random generator is seeded between two draws."""

import torch


def f(x):
    noisy = x + torch.rand(3)
    torch.manual_seed(5)
    return noisy, x + torch.rand(3)


def inputs():
    return (torch.zeros(3),)
