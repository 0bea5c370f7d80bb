# graphs: 0
"""A dict changes its size in a loop over it that breaks. Found by a generated program."""

import torch


def f(x, y, items, table):
    with torch.no_grad():
        for t1, n2 in table.items():
            print(n2)
            table.clear()
    return items


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
