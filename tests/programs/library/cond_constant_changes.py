# graphs: 2
# not_on_torch: 2.15 (its eager torch.cond fails where a number in the closure changes)
"""A number that a branch reads changes between the calls."""

import torch


def f(x, scale):
    def scaled(x):
        return x * scale

    return torch.cond(x.sum() > 0, scaled, lambda x: x + scale, (x,))


def inputs():
    return torch.ones(3), 2.0


def other():
    return torch.ones(3), 3.0


calls = [inputs, inputs, other, inputs]
