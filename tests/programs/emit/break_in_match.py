# graphs: 3
"""A match statement over commands; one case prints, captures names and computes."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(x, commands):
    for command in commands:
        match command:
            case ["scale", factor] if factor > 1:
                x = x * factor
            case {"op": "shift", "by": amount, **rest}:
                say("shift", amount, rest)
                x = x + amount
            case str(name):
                say("unknown", name)
            case _:
                x = x.neg()
    return x.square()


def inputs():
    return torch.randn(2), [["scale", 2], {"op": "shift", "by": 3, "why": "bias"}, None, "stop"]
