# graphs: 0
"""A deque and a dict change while iterators walk over them: these complain behind the break as they would without one."""

import collections

import torch

import minidynamo


def attempt(walk):
    try:
        return next(walk)
    except RuntimeError as error:
        return str(error)


def f(x):
    items = collections.deque([1, 2, 3])
    known = {"a": 1, "b": 2}
    walks = [iter(items), reversed(items), reversed(known)]
    for walk in walks:
        next(walk)
    items.append(4)
    known["c"] = 3
    minidynamo.graph_break()
    return x + 1, [attempt(walk) for walk in walks]


def inputs():
    return (torch.ones(2),)
