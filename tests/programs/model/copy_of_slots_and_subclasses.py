# graphs: 1
"""copy.copy and copy.deepcopy of instances with slots, of containers' subclasses with attributes, and of classes that say how."""

import copy

import torch


class Slotted:
    __slots__ = ("__private", "left", "unset")

    def __init__(self, left):
        self.left = left
        self.__private = [left]

    def private(self):
        return self.__private


class Wider(Slotted):
    def __init__(self, left):
        super().__init__(left)
        self.more = {"left": left}


class Stack(list):
    pass


class Table(dict):
    def __setitem__(self, key, value):
        super().__setitem__(key, (value,))


class Pair(tuple):
    def __new__(cls, left, right):
        return super().__new__(cls, (left, right))

    def __getnewargs__(self):
        return tuple(self)


class Named:
    def __new__(cls, *, name):
        made = super().__new__(cls)
        made.name = name
        return made

    def __getnewargs_ex__(self):
        return (), {"name": self.name}


def f(x, slotted, wider, stack, table):
    stack.height += 1
    wider.left = x + wider.left
    copies = [copy.copy(one) for one in (slotted, wider, stack, table, Pair(x, 2), Named(name="n"))]
    deep = [copy.deepcopy(one) for one in (slotted, stack, table, Pair(1, [2]))]
    slotted.left = 5
    return copies, deep, deep[0].private() is slotted.private(), hasattr(copies[0], "unset"), slotted.__getstate__()


def inputs():
    stack, table = Stack([1, [2]]), Table(a=1)
    stack.height, table.origin = 2, [0]
    return torch.randn(2), Slotted(3), Wider(4), stack, table
