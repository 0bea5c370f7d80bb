# graphs: 1
"""Gradients of arguments are set to None and to zero after a norm of them was taken."""

import torch


def f(weights):
    norm = torch.stack([w.grad.norm() for w in weights]).norm()
    weights[0].grad = None
    weights[1].grad = torch.zeros_like(weights[1])
    return norm, weights[0].grad is None


def inputs():
    weights = [torch.randn(2, requires_grad=True) for _ in range(2)]
    for w in weights:
        w.grad = torch.ones(2)
    return (weights,)
