import torch
from torch._higher_order_ops import while_loop


def before(x):
    _, x = while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (0, x))
    return x


def after(x):
    _, x = while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (torch.tensor(0), x))
    return x


def inputs():
    return (torch.ones(3),)
