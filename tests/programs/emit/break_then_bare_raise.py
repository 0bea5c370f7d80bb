# graphs: 2
"""An exception that passed a break is raised again by `raise` alone. Found by a generated program."""

import collections
import torch
import minidynamo


HISTORY = [1, 2]


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


def helper0(n14, v15, v16):
    HISTORY.pop()
    v15 = v15
    return n14


def f(x, y, items, table, box):
    v1 = x
    match items:
        case [n2, *l3]:
            x = x
        case _:
            x = x
    for n4, n5 in enumerate(HISTORY):
        if len(HISTORY) > 7:
            break
        x, v1 = v1, x
        items.pop()
        x = x
        v6 = x
        try:
            def g8(n7=1):
                nonlocal n5, v6
                table.clear()
                v6.zero_()
                def g10(n9=1):
                    s11 = torch.tensor(0.5)
                    v12 = x
                    minidynamo.graph_break()
                    return v12
                return v6
            s13 = torch.tensor(0.5)
            x = x
            x = x
            x = x
            x = x
            x = x
            x = x
            with torch.no_grad():
                x[(helper0(n4, x, x) + 1) % 2] = 0.5
            n17 = 0
            while n17 < 3:
                n17 += 1
                x.zero_()
                q18 = collections.deque([1, 2])
                print(n4)
                x = x
                x = x
                x = x
                x = x
                n4 = items[box.count]
            else:
                print(n4)
        except (IndexError, KeyError) as error18:
            if True:
                raise
        else:
            x = x
        finally:
            print(n4)
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
