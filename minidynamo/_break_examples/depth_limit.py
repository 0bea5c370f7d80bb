import torch


def iterated(x, steps):
    return x if steps == 0 else iterated(x.cos(), steps - 1)


def before(x):
    return iterated(x, 450)


def after(x):
    for _ in range(450):
        x = x.cos()
    return x


def inputs():
    return (torch.ones(3),)
