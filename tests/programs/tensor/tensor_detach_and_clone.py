# graphs: 1
"""detach, clone, requires_grad_ and data flow that gradients must not follow."""

import torch


def f(x):
    stopped = (x * 2).detach()
    copied = x.clone()
    return stopped * x + copied, stopped, x.detach().sin()


def inputs():
    return (torch.randn(3, requires_grad=True),)
