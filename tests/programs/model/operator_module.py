# graphs: 1
"""Functions of the operator module."""

import operator

import torch


def f(x):
    get = operator.itemgetter(1, 0)
    name = operator.attrgetter("shape")
    call = operator.methodcaller("add", 2)
    a, b = get([x, x + 1])
    return operator.mul(a, b), operator.neg(x), name(x)[0], call(x), operator.matmul(x, x)


def inputs():
    return (torch.randn(3),)
