# graphs: 1
# backends: eager
"""A random operation whose result nobody uses still moves the generator."""

import torch


def f(x):
    torch.rand(5)
    return x + 1


def inputs():
    return (torch.randn(3),)
