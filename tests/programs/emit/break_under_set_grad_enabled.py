# graphs: 3
"""set_grad_enabled is called as a function between two breaks."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(x):
    a = x * 2
    say("on")
    previous = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    b = x * 3
    say("off")
    torch.set_grad_enabled(previous)
    c = a + b
    return c, b.requires_grad


def inputs():
    return (torch.randn(2, requires_grad=True),)
