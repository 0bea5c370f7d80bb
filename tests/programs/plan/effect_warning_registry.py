# graphs: 1
"""A warning is given once because of a flag in an argument that the first of two uses sets."""

import warnings

import torch


def deprecated(x, state):
    if not state.get("warned"):
        warnings.warn("use the new form", FutureWarning, stacklevel=2)
        state["warned"] = True
    return x * 2


def f(x, state):
    y = deprecated(x + 1, state)
    return deprecated(y, state)


def inputs():
    return torch.randn(2), {}
