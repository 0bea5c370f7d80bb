# graphs: 0
"""A dict is changed before and in a loop over it that breaks. Found by a generated program."""

import torch


def f(x, y, items, table):
    n1 = 0
    while n1 < 3:
        n1 += 1
        n2 = table.setdefault('d', int(torch.is_grad_enabled()))
    for t3, n4 in table.items():
        print(n1)
        table.update(c=n1)
    return torch.tensor(0.5)


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
