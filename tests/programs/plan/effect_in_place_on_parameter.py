# graphs: 1
"""A step of gradient descent on the parameters under no_grad."""

import torch

net = torch.nn.Linear(2, 1)
for parameter in net.parameters():
    parameter.grad = torch.ones_like(parameter)


def f(rate):
    with torch.no_grad():
        for p in net.parameters():
            p.sub_(p.grad, alpha=rate)
            p.grad.zero_()
    return net.weight.detach() + 1


def inputs():
    return (0.5,)
