# graphs: 1
"""Forward-mode AD by dual tensors."""

import torch


import torch.autograd.forward_ad as forward


def f(x):
    with forward.dual_level():
        dual = forward.make_dual(x, x.cos())
        value, tangent = forward.unpack_dual(dual.exp() * dual)
    return value, tangent

def inputs():
    return (torch.randn(4, 3, requires_grad=True),)
