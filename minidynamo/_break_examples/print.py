"""The tensor that is printed is changed in place before the graph ends."""

import torch


def before(x):
    hidden = x.sin()
    print("hidden:", hidden)
    hidden.mul_(2)
    return hidden


def after(x):
    hidden = x.sin()
    print("hidden:", hidden)
    return hidden * 2


def inputs():
    return (torch.ones(3),)
