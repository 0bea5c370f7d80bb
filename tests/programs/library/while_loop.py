# graphs: 1
"""A loop on a tensor's values."""

import torch
from torch._higher_order_ops.while_loop import while_loop


def f(x):
    count, y = while_loop(lambda i, x: i < 5, lambda i, x: (i + 1, x * 2), (torch.tensor(0), x))
    return count, y + 1


def inputs():
    return (torch.ones(3),)
