# graphs: 3
"""What a class gives that a trace has written to its base: later the class has the name itself."""

import torch


class Base:
    rate = 5


class Leaf(Base):
    pass


def f(x):
    Base.rate = 1
    Leaf.rate += 1
    return x * Leaf.rate


def inputs():
    return (torch.ones(2),)


calls = [inputs, inputs, inputs]
