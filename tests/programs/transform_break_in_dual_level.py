# graphs: 1
"""A graph break where dual numbers are open: what follows runs as it is."""

import torch


import torch.autograd.forward_ad as forward

import minidynamo


def f(x):
    y = x.detach() + 1
    with forward.dual_level():
        dual = forward.make_dual(y, y)
        minidynamo.graph_break()
        tangent = forward.unpack_dual(dual.sin()).tangent
    return tangent * 2

def inputs():
    return (torch.randn(4, 3, requires_grad=True),)
