# graphs: 2
"""A new Parameter takes the place of an old one, and is also known under a second name."""

import torch


class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2))


def f(module, x):
    replacement = torch.nn.Parameter(x.detach() * 2)
    module.weight = replacement
    module.tied = replacement
    return (x * module.weight).sum(), [name for name, _ in module.named_parameters(remove_duplicate=False)]


def inputs():
    return Tied(), torch.randn(2)
