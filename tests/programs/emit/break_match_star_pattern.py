# graphs: 2
"""A star pattern is matched behind a break. Found by a generated program."""

import torch


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
    match [*items, int(x[0].clamp(-3, 3).item())]:
        case [n1, *l2]:
            box.nested[0][0] = n1
        case _:
            x = x
    return x


def inputs():
    x = torch.tensor([0.5, -1.0])
    y = torch.tensor([[1.0, 0.5], [-0.5, 2.0]])
    items = [1, 2]
    table = {'a': 1}
    box = Box(x)
    return x, y, items, table, box


def other_inputs():
    x = torch.tensor([-2.0, 0.25])
    y = torch.tensor([[1.0, 0.5], [-0.5, 2.0]])
    items = [4, 0, 1]
    table = {'a': 1}
    box = Box(x)
    return x, y, items, table, box


calls = [inputs, other_inputs]
