# graphs: 3
"""A match statement over commands; one case prints, captures names and computes."""

import torch


def f(x, commands):
    for command in commands:
        match command:
            case ["scale", factor] if factor > 1:
                x = x * factor
            case {"op": "shift", "by": amount, **rest}:
                print("shift", amount, rest)
                x = x + amount
            case str(name):
                print("unknown", name)
            case _:
                x = x.neg()
    return x.square()


def inputs():
    return torch.randn(2), [["scale", 2], {"op": "shift", "by": 3, "why": "bias"}, None, "stop"]
