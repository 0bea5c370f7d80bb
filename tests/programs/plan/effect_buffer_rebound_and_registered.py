# graphs: 1
"""A buffer is assigned a new tensor, and a buffer and a parameter are registered inside."""

import torch


class Cache(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("keys", None)

    def forward(self, x):
        self.keys = x * 2
        self.register_buffer("values", x + 1, persistent=False)
        self.register_parameter("absent", None)
        return self.keys - self.values


def f(module, x):
    return module(x), sorted(module.state_dict())


def inputs():
    return Cache(), torch.randn(2)
