# graphs: 2
"""Bound methods whose functions cannot be called, which a classmethod around anything makes, behind a break."""

import torch

import minidynamo


class Odd:
    number = classmethod(1)


def f(x):
    method = Odd.number
    other = classmethod("text").__get__(None, Odd)
    y = x + 1
    minidynamo.graph_break()
    return y * 2, method.__func__, method.__self__ is Odd, other.__func__, method == Odd.number


def inputs():
    return (torch.ones(2),)
