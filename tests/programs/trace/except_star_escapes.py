# graphs: 2
"""An exception group that leaves the captured function, in part caught."""

import torch


def f(x):
    y = x * 2
    try:
        raise ExceptionGroup("g", [ValueError(1), TypeError(2)])
    except* ValueError:
        y += 1
        x.add_(y)
    return y


def inputs():
    return (torch.zeros(2),)
