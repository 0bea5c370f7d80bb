# graphs: 1
"""uniform_, normal_, bernoulli_, exponential_ on a tensor made inside and on an argument."""

import torch


def f(x):
    y = torch.empty(4).uniform_(-1, 1)
    x.normal_(2.0, 0.5)
    return y + torch.zeros(4).bernoulli_(0.3), torch.empty(2).exponential_()


def inputs():
    return (torch.randn(3),)
