# graphs: 2
"""An if statement on a tensor: the gradient is clipped when it is too long."""

import torch


def f(gradient, limit):
    norm = gradient.norm()
    if norm > limit:
        gradient = gradient * (limit / norm)
    return gradient + 0.5


def inputs():
    return torch.full((4,), 3.0), 1.0
