import torch


def before(hidden, first):
    hidden.mul_(2)
    return hidden.sum() + first.sum()


def call_before(captured, x):
    hidden = x * 1
    return captured(hidden, hidden[0])


def after(hidden):
    hidden.mul_(2)
    return hidden.sum() + hidden[0].sum()


def call_after(captured, x):
    return captured(x * 1)


def inputs():
    return (torch.ones(3, 2, requires_grad=True),)
