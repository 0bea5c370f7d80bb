# graphs: 4
"""A match statement after the break takes another case in each call."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(x, command):
    y = x * 2
    say("command")
    match command:
        case ("add", n):
            return y + n
        case ("mul", n, *_):
            return y * n
        case _:
            return y.neg()


def inputs():
    return torch.randn(2), ("add", 1)


def multiplied():
    return torch.randn(2), ("mul", 3, "rest")


def other():
    return torch.randn(2), ("neg",)


calls = [inputs, multiplied, other, inputs]
