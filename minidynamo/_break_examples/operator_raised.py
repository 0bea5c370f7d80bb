import torch


def before(x, weight):
    try:
        return x @ weight
    except RuntimeError:
        return x @ weight.T


def after(x, weight):
    if x.shape[-1] != weight.shape[0]:
        weight = weight.T
    return x @ weight


def inputs():
    return torch.ones(2, 3), torch.ones(4, 3)
