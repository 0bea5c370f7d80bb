# graphs: 2
"""The function given to functools.reduce prints."""

import functools

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def join(left, right):
    say("join", left, right)
    return left + right


def f(x, sizes):
    y = x * 2
    total = functools.reduce(join, sizes, 0)
    return y.reshape(-1)[:total], total


def inputs():
    return torch.randn(3, 2), [1, 2, 1]
