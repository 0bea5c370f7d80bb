# graphs: 2
"""`.data =` gives a tensor argument other memory."""

import torch


def f(parameter, x):
    before = parameter.detach() + 0
    parameter.data = x * 2
    return before, parameter * 3


def inputs():
    return torch.nn.Parameter(torch.ones(2)), torch.randn(2)
