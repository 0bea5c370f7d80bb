# graphs: 2
"""Star and double-star arguments around a breaking one."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def combine(*tensors, label, **numbers):
    return sum(tensors) * sum(numbers.values()), label


def announced(items):
    say(len(items), "items")
    return items


def f(x, extra):
    y = x * 2
    out, label = combine(y, *announced([x, x + 1]), label=str(len(extra)), **announced(extra))
    return out.neg(), label


def inputs():
    return torch.randn(2), {"a": 2, "b": 3}
