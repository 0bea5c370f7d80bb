# graphs: 0
"""A value of a dict changes in a loop over its items that breaks. Found by a generated program."""

import torch


HISTORY = [1, 2]


def helper0(n3, v4):
    n3 = HISTORY.pop(0)
    return n3


def f(x, y, items, table):
    for t1, n2 in table.items():
        print(n2)
        table['a'] = helper0(n2, x)
    return x


def inputs():
    x = torch.tensor([0.5, -1.0])
    y = torch.tensor([[1.0, 0.5], [-0.5, 2.0]])
    items = [1, 2]
    table = {'b': 2, 'a': 0}
    return x, y, items, table


def other_inputs():
    x = torch.tensor([-2.0, 0.25])
    y = torch.tensor([[1.0, 0.5], [-0.5, 2.0]])
    items = [4, 0, 1]
    table = {'a': 1}
    return x, y, items, table


calls = [inputs, other_inputs]
