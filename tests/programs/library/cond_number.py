# graphs: 2
# backends: eager
"""A predicate that is a number chooses its branch while the call is traced."""

import torch


def f(x, flag):
    return torch.cond(flag, lambda x: x.sin(), lambda x: x.cos(), (x,))


def inputs():
    return torch.ones(3), True


def other():
    return torch.ones(3), False


calls = [inputs, other, inputs]
