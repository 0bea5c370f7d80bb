# graphs: 1
"""Code that asks is_compiling gets a result that does not depend on it here."""

import torch


def f(x):
    scale = 2 if torch.compiler.is_compiling() else 1 + 1
    return x * scale


def inputs():
    return (torch.randn(3),)
