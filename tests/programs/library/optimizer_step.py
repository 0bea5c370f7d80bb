# graphs: 2
"""A step of Adam with clipping, after which the gradients are gone: one graph that makes the state, and one for all later steps."""

import torch

MODEL = torch.nn.Linear(3, 2)
OPTIMIZER = torch.optim.Adam(MODEL.parameters(), lr=0.1, weight_decay=0.1)


def f(grad):
    for parameter in MODEL.parameters():
        parameter.grad = grad[: parameter.shape[0]].expand_as(parameter.t()).t().clone()
    norm = torch.nn.utils.clip_grad_norm_(MODEL.parameters(), 1.0)
    OPTIMIZER.step()
    OPTIMIZER.zero_grad()
    return norm


def inputs():
    return (torch.tensor([0.5, -2.0]),)


calls = [inputs] * 4
