import torch


def before(x):
    y = x * 2
    return y if y.grad_fn is None else y.tanh()


def after(x):
    y = x * 2
    return y.tanh() if y.requires_grad else y


def inputs():
    return (torch.ones(3, requires_grad=True),)
