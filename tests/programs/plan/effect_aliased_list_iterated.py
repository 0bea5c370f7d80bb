# graphs: 0
"""A list with two names grows, and is iterated. Found by a generated program."""

import torch
import minidynamo


HISTORY = [1, 2]


@minidynamo.disable
def apart(value):
    HISTORY.append(len(HISTORY))
    return value + 1


class Box:
    shared = 1

    def __init__(self, tensor, items=(2, 1)):
        self.tensor = tensor
        self.items = items if isinstance(items, list) else list(items)
        self.count = 2
        self.nested = [[1, 2], {"k": tensor}]

    @property
    def doubled(self):
        return self.count * 2

    @doubled.setter
    def doubled(self, value):
        self.count = value // 2

    def scaled(self, by):
        return self.tensor * by

    def step(self):
        self.count += 1
        return self.tensor + self.count


def f(x, y, items, table, box):
    box.items.append(0)
    for n1 in items:
        if len(items) > 7:
            break
        n1 = apart(n1)
    return x


def inputs():
    x = torch.tensor([0.5, -1.0])
    y = torch.tensor([[1.0, 0.5], [-0.5, 2.0]])
    items = []
    table = {'a': 1}
    box = Box(x, items)
    return x, y, items, table, box


def other_inputs():
    x = torch.tensor([-2.0, 0.25])
    y = torch.tensor([[1.0, 0.5], [-0.5, 2.0]])
    items = [4, 0, 1]
    table = {'a': 1}
    box = Box(x)
    return x, y, items, table, box


calls = [inputs, other_inputs]
