# graphs: 1
"""Gradients are clipped in place to a total norm, without a branch."""

import torch


def f(parameters, limit):
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = torch.stack([g.norm() for g in gradients]).norm()
    scale = (limit / (norm + 1e-6)).clamp(max=1.0)
    for gradient in gradients:
        gradient.mul_(scale)
    return norm


def inputs():
    parameters = [torch.nn.Parameter(torch.randn(2)) for _ in range(3)]
    parameters[0].grad, parameters[2].grad = torch.ones(2), torch.full((2,), 3.0)
    return parameters, 1.0
