# graphs: 2
"""A loss is logged as a number; its gradient still flows."""

import torch


def f(x, history):
    loss = (x - 1).square().mean()
    history.append(round(loss.item(), 4))
    return loss * len(history)


def inputs():
    return torch.zeros(3, requires_grad=True), []
