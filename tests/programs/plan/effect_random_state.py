# graphs: 1
"""A torch.Generator argument is drawn from between draws from the default generator."""

import torch


def f(x, generator):
    y = x + torch.rand(2)
    noise = torch.rand(2, generator=generator)
    return y + noise * torch.randn(2), torch.randint(0, 9, (2,), generator=generator)


def inputs():
    return torch.zeros(2), torch.Generator().manual_seed(3)


calls = [inputs]
