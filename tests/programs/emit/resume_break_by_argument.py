# graphs: 3
"""Whether there is a break at all depends on an argument."""

import torch


def checked(x, check):
    if check and x.isnan().any():
        return x.nan_to_num()
    return x * 2


def f(x, check):
    y = x.sqrt()
    return checked(y, check) + 1


def inputs():
    return torch.ones(2), False


def careful():
    return torch.ones(2), True


calls = [inputs, careful, inputs]
