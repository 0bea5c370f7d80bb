# graphs: 3
"""enable_grad inside of no_grad, with a break in the inner block and one after it."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(weight):
    with torch.no_grad():
        a = weight * 2
        with torch.enable_grad():
            b = weight * 3
            say("inner", torch.is_grad_enabled())
            c = weight * 4
        say("outer", torch.is_grad_enabled())
        d = weight * 5
    return a.requires_grad, d.requires_grad, a + d, b + c


def inputs():
    return (torch.randn(2, requires_grad=True),)
