# graphs: 1
"""grad_and_value with something beside the loss."""

import torch


def f(x):
    def loss(y):
        activation = y.tanh()
        return activation.pow(2).sum(), {"activation": activation, "n": 3}["activation"]

    gradient, (value, activation) = torch.func.grad_and_value(loss, has_aux=True)(x)
    return gradient, value, activation

def inputs():
    return (torch.randn(4, 3, requires_grad=True),)
