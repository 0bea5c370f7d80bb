# graphs: 3
"""Some steps of a loop go on with the next one right after a graph break."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(x):
    for step in range(4):
        x = x.cos()
        if step % 2 == 0:
            say("even")
            continue
        x = x + 1
    return x * 3


def inputs():
    return (torch.randn(2),)


calls = [inputs]
