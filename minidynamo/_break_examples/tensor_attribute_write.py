import torch


def before(x):
    hidden = x * 2
    hidden.retain_grad()
    return hidden, hidden.square().sum()


def call_before(captured, x):
    hidden, loss = captured(x)
    loss.backward()
    return hidden.grad


def after(x):
    hidden = x * 2
    return hidden, hidden.square().sum()


def call_after(captured, x):
    hidden, loss = captured(x)
    hidden.retain_grad()
    loss.backward()
    return hidden.grad


def inputs():
    return (torch.ones(3, requires_grad=True),)
