import torch


def before(x):
    y = x.sin()
    return y if y.data_ptr() != x.data_ptr() else y.clone()


def after(x):
    return x.sin()


def inputs():
    return (torch.ones(3),)
