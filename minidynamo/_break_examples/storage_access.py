import torch


def before(x):
    y = x.float()
    if y.data_ptr() == x.data_ptr():  # the same tensor, which must not change
        y = y.clone()
    return y.mul_(2)


def after(x):
    return x.to(torch.float32, copy=True).mul_(2)


def inputs():
    return (torch.ones(3),)
