import torch


class Counters:
    forward_calls = 0
    backward_calls = 0


def before(x):
    for name in vars(Counters):
        if name.endswith("_calls"):
            setattr(Counters, name, 0)
    return x * 2


counters = Counters()


def after(x):
    for name in ("forward_calls", "backward_calls"):
        setattr(counters, name, 0)
    return x * 2


def inputs():
    return (torch.ones(3),)
