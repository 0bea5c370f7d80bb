# graphs: 1
"""A hand-written optimizer keeps momentum buffers in a dict keyed by index, made at the first step."""

import torch


class Momentum:
    def __init__(self, parameters):
        self.parameters, self.state, self.steps = list(parameters), {}, 0

    @torch.no_grad()
    def step(self):
        self.steps += 1
        for index, parameter in enumerate(self.parameters):
            buffer = self.state.setdefault(index, torch.zeros_like(parameter))
            buffer.mul_(0.9).add_(parameter.grad)
            parameter.add_(buffer, alpha=-0.1)


def f(optimizer):
    optimizer.step()
    optimizer.step()
    return optimizer.state[0] * 1


def inputs():
    parameter = torch.nn.Parameter(torch.ones(2))
    parameter.grad = torch.full((2,), 2.0)
    return (Momentum([parameter]),)
