# graphs: 2
"""A generator is started before a break, advanced after it, and closed at the end."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def stages(x, log):
    try:
        x = x + 1
        yield x
        x = x * 2
        yield x
    finally:
        log.append("closed")


def f(x):
    log = []
    generator = stages(x, log)
    first = next(generator)
    say("first stage")
    second = next(generator)
    say("second stage")
    generator.close()
    return first - second, log


def inputs():
    return (torch.randn(2),)
