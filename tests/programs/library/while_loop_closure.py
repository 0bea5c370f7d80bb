# graphs: 1
"""A loop whose functions use what is around them, and whose length is a tensor's."""

import torch
from torch._higher_order_ops.while_loop import while_loop


def f(x, limit):
    y = x.sin()
    step = y * 0.5
    return while_loop(lambda x: x.sum() < limit, lambda x: (x + y.abs() + step,), (x,))


def inputs():
    return torch.ones(3), torch.tensor(20.0)


def longer():
    return torch.ones(3), torch.tensor(200.0)


calls = [inputs, longer]
