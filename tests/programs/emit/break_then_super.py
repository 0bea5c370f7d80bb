# graphs: 2
"""super() and the class cell are used after a break, in a method and in a class method."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


class Base:
    def apply(self, x):
        return x + 1

    @classmethod
    def named(cls):
        return cls.__name__


class Child(Base):
    def apply(self, x):
        y = x * 2
        say("child")
        return super().apply(y) * 3

    @classmethod
    def named(cls):
        say("named")
        return super().named() + "/" + __class__.__name__


class Grandchild(Child):
    pass


def f(x):
    return Grandchild().apply(x), Grandchild.named()


def inputs():
    return (torch.randn(2),)
