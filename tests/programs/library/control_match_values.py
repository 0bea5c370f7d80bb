# graphs: 1
"""match on values, alternatives and a guard."""

import torch


def activate(x, name, power):
    match name, power:
        case "relu", _:
            return x.relu()
        case "sin" | "sine", 1:
            return x.sin()
        case ("sin", n) if n > 1:
            return x.sin() ** n
        case _:
            return x


def f(x):
    return activate(x, "relu", 0), activate(x, "sine", 1), activate(x, "sin", 2), activate(x, "other", 0)


def inputs():
    return (torch.randn(3),)
