# graphs: 3
"""A number that the body of a checkpoint reads changes between the calls."""

import torch
from torch.utils.checkpoint import checkpoint


class Settings:
    def __init__(self):
        self.scale = 2.0


settings = Settings()


def f(x, scale):
    def body(y):
        return y.sin() * settings.scale

    y = checkpoint(body, x, use_reentrant=False)
    settings.scale = scale
    return y


def inputs():
    return torch.ones(3, requires_grad=True), 2.0


def other():
    return torch.ones(3, requires_grad=True), 5.0


calls = [inputs, inputs, other, other, other]
