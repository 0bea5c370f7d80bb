# graphs: 1
"""__len__, __getitem__, __setitem__, __iter__, __contains__, __reversed__ of a user's class."""

import torch


class Stack:
    def __init__(self, items):
        self.items = list(items)

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]

    def __setitem__(self, index, value):
        self.items[index] = value

    def __contains__(self, item):
        return any(item is other for other in self.items)

    def __iter__(self):
        yield from self.items


def f(x):
    stack = Stack([x, x + 1])
    stack[0] = stack[-1] * 2
    total = sum(stack)
    return total, len(stack), x in stack, [item for item in reversed(stack)], bool(stack)


def inputs():
    return (torch.randn(2),)
