# graphs: 1
"""Tensors and lists move from one argument to another one, and keep their identity."""

import torch


def f(source, target, x):
    while source:
        target.insert(0, source.pop())
    target[0].append(x * 2)
    target[1].add_(1)
    source.append(target[1])
    return target[1] + x


def inputs():
    return [[1], torch.zeros(2), "s"], ["t"], torch.randn(2)
