# graphs: 1
"""An exponential moving average of weights is kept in a dict of tensors, in place."""

import torch


def f(shadow, model, decay):
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            shadow[name].lerp_(parameter, 1 - decay)
    return shadow["weight"].sum()


def inputs():
    model = torch.nn.Linear(2, 2)
    return {name: torch.zeros_like(p) for name, p in model.named_parameters()}, model, 0.75
