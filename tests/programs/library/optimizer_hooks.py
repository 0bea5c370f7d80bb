# graphs: 4
"""Hooks around a step of an optimizer see its arguments; a second optimizer has none. Gradients are kept, as zeros."""

import torch

WEIGHT = torch.nn.Parameter(torch.ones(3))
LOG = []


def make(hooks):
    optimizer = torch.optim.SGD([WEIGHT], lr=0.1, momentum=0.9)
    if hooks:
        optimizer.register_step_pre_hook(lambda optimizer, args, kwargs: LOG.append(("before", len(args), dict(kwargs))))
        optimizer.register_step_post_hook(lambda optimizer, args, kwargs: LOG.append("after"))
    return optimizer


FIRST, SECOND = make(True), make(False)


def f(optimizer, grad):
    WEIGHT.grad = grad if WEIGHT.grad is None else WEIGHT.grad + grad
    optimizer.step()
    optimizer.zero_grad(set_to_none=False)
    return len(LOG), WEIGHT.grad


def inputs():
    return FIRST, torch.ones(3)


def other():
    return SECOND, torch.ones(3)


calls = [inputs, other, inputs, other]
