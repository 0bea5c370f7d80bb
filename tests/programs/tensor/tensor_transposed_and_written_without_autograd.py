# graphs: 2
"""An argument gets other strides, and is written to where autograd does not look: compilers forget the strides then."""

import torch


def f(x):
    x.t_()
    with torch.no_grad():
        x.select(1, 0).copy_(2)
    return x + 1


def inputs():
    return (torch.tensor([[1.0, 0.5], [0.5, 2.0]]),)
