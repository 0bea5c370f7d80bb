# graphs: 1
"""A reentrant checkpoint, once with and once without preserve_rng_state."""

import torch
from torch.utils.checkpoint import checkpoint


def body(x, y, name):
    return x * y if name == "product" else x + y


def f(x, y):
    z = checkpoint(body, x, y, "product", use_reentrant=True)
    return checkpoint(body, z, y, "sum", use_reentrant=True, preserve_rng_state=False)


def inputs():
    torch.manual_seed(0)
    return torch.randn(5, requires_grad=True), torch.randn(5)
