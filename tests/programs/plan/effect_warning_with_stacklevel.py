# graphs: 1
"""A deprecation warning points at the caller's line."""

import warnings

import torch


def old_activation(x):
    warnings.warn("old_activation is deprecated", DeprecationWarning, stacklevel=2)
    return x.relu()


def f(x):
    y = x - 1
    z = old_activation(y)
    return z * 2


def inputs():
    return (torch.randn(3),)
