# graphs: 1
"""A callee writes, raises and is caught; its writes stay."""

import torch


def update(state, x):
    state["x"] = x * 2
    state["steps"] += 1
    if state["steps"] > 3:
        raise OverflowError("too many steps")
    state["fine"] = True


def f(x, state):
    try:
        update(state, x)
    except OverflowError as error:
        state["error"] = str(error)
    return state["x"] + state["steps"]


def inputs():
    return torch.randn(2), {"steps": 3}
