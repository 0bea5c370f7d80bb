import torch


def before(x, waiting, order):
    waiting.append(4.0)
    return x * next(order)


def after(x, waiting, order):
    scale = next(order)
    waiting.append(4.0)
    return x * scale


def inputs():
    waiting = [2.0, 3.0]
    return torch.ones(3), waiting, iter(waiting)
