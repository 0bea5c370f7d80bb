# graphs: 2
"""A generator delegates to another one that prints, and uses the value that it returns."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def parts(x):
    yield x + 1
    say("between the parts")
    yield x + 2
    return "done"


def all_parts(x, log):
    result = yield from parts(x)
    log.append(result)
    say(result)
    yield x * 3


def f(x):
    log = []
    collected = list(all_parts(x.sin(), log))
    return collected[0] + collected[1] + collected[2], log


def inputs():
    return (torch.randn(2),)
