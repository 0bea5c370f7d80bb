# graphs: 1
"""A hand-written momentum update of a dict of parameters under no_grad."""

import torch

STATE = {"momentum": {}}


def f(parameters, gradients, lr):
    with torch.no_grad():
        for name, parameter in parameters.items():
            buffer = STATE["momentum"].get(name)
            if buffer is None:
                buffer = STATE["momentum"][name] = torch.zeros_like(parameter)
            buffer.mul_(0.9).add_(gradients[name])
            parameter.sub_(buffer, alpha=lr)


def inputs():
    return {"w": torch.randn(2, 2), "b": torch.randn(2)}, {"w": torch.ones(2, 2), "b": torch.ones(2)}, 0.1


calls = [inputs]
