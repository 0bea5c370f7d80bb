# graphs: 1
# backends: eager
"""A checkpoint that draws random numbers draws the same ones when it is computed again."""

import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint


def f(x):
    return checkpoint(lambda y: F.dropout(y.sin(), 0.5) * y, x, use_reentrant=False)


def inputs():
    torch.manual_seed(0)
    return (torch.randn(8, 4, requires_grad=True),)
