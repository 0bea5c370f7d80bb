# graphs: 0
"""A callee in the argument of a call breaks twice. Found by a generated program."""

import collections
import torch


def helper0(l1):
    n2 = 0
    print(n2)
    q3 = collections.deque([1, 2])
    for n4 in q3:
        print(n2)
    return l1


def f(x, y, items, table):
    return set(helper0(items))


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
