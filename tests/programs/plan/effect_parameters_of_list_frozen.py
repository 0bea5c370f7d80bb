# graphs: 1
"""Parameters are taken out of a list argument by a mask of flags, and the flags are flipped."""

import torch


def f(parameters, flags):
    active = []
    for index, flag in enumerate(flags):
        if flag:
            active.append(parameters[index])
        flags[index] = not flag
    return torch.stack([p.square().sum() for p in active]).sum()


def inputs():
    return [torch.nn.Parameter(torch.full((2,), float(k))) for k in range(3)], [True, False, True]
