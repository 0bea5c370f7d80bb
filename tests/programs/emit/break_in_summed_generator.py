# graphs: 0
"""A generator that breaks is summed. Found by a generated program."""

import torch


def f(x, y, items, table):
    return sum(int(torch.tensor(0.5).clamp(-3, 3).item()) for n1 in items[:3])


def inputs():
    x = torch.tensor([0.5, -1.0])
    y = torch.tensor([[1.0, 0.5], [-0.5, 2.0]])
    items = [1, 2]
    table = {'a': 1}
    return x, y, items, table


def other_inputs():
    x = torch.tensor([-2.0, 0.25])
    y = torch.tensor([[1.0, 0.5], [-0.5, 2.0]])
    items = [4, 0, 1]
    table = {'a': 1}
    return x, y, items, table


calls = [inputs, other_inputs]
