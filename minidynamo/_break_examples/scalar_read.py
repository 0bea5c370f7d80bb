import torch


def before(x):
    scale = int(x.abs().max())
    return x * scale


def after(x):
    scale = x.abs().max().int()
    return x * scale


def inputs():
    return (torch.tensor([1.0, -2.5]),)
