# graphs: 2
# backends: eager
# whole: no
"""A view of what came to require gradients behind it: a write to the view raises where nothing has looked at its history."""

import torch


def attempt(view):
    try:
        view.mul_(2)
        return "written"
    except RuntimeError as error:
        return str(error)


def f(x):
    base = torch.eye(2)
    seen, unseen, read = base[0], base[0], base[0]
    base[1] = x.sum()
    assert not seen.is_leaf
    other = read + 1
    return [attempt(view) for view in (seen, unseen, read)], other


def inputs():
    return (torch.ones(2, requires_grad=True),)
