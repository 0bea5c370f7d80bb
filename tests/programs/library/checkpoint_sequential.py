# graphs: 1
"""A model in segments, each a checkpoint."""

import torch
from torch.utils.checkpoint import checkpoint_sequential

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh(), torch.nn.Linear(4, 4), torch.nn.Sigmoid())


def f(x):
    return checkpoint_sequential(model, 2, x, use_reentrant=False)


def inputs():
    return (torch.randn(3, 4, requires_grad=True),)
