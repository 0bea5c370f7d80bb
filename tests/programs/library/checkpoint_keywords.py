# graphs: 1
"""A checkpoint whose function has keywords, some of them without a gradient, and gives a tensor twice and a number."""

import torch
from torch.utils.checkpoint import checkpoint


def body(x, *rest, mask=None, scale=1.0):
    y = x * scale
    if mask is not None:
        y = y.masked_fill(mask, 0.0)
    return y, len(rest), [y, x], None


def f(x, mask):
    y, count, both, nothing = checkpoint(body, x, 1, None, use_reentrant=False, mask=mask, scale=0.5)
    return y * count, both[0] is y, both[1] is x, nothing


def inputs():
    torch.manual_seed(0)
    return torch.randn(5, requires_grad=True), torch.tensor([True, False, True, False, False])
