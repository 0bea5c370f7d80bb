# graphs: 6
"""A view from before of what comes to require gradients in the call: a write to it raises where nothing has looked at its history."""

import torch


def attempt(view):
    try:
        view.mul_(2)
        return "written"
    except RuntimeError as error:
        return str(error)


def f(base, view, looks, x):
    base[1] = x.sum()
    if looks == "leaf":
        view.is_leaf
    if looks == "sum":
        view.sum()
    if looks == "requires_grad":
        view.requires_grad
    return attempt(view)


def made(looks):
    def inputs():
        base = torch.eye(2)
        return base, base[0], looks, torch.ones(2, requires_grad=True)

    return inputs


inputs = made(None)
calls = [made(looks) for looks in (None, "leaf", "sum", "requires_grad", None)]
