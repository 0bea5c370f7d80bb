# graphs: 1
# whole: no
"""An inlined callee breaks, then raises: both frames are in the traceback. Found by a generated program."""

import torch

half = torch.tensor(0.5)


def helper0(n2):
    if half > 0:
        v3 = torch.tensor([0.5, -1.0])
    if int(torch.is_grad_enabled()) > n2:
        n4 = 0
        while n4 < 3:
            n4 += 1
            v5 = torch.tensor([0.5, -1.0])
    return n4


def f(x, y, items, table):
    n1 = 0
    while n1 < 3:
        n1 += 1
        x = x
    print(helper0(n1))
    return x


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
