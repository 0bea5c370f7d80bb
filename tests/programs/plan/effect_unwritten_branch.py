# graphs: 1
"""Writes on the path that is taken are made, those on the other one are not; a callee decides."""

import torch


def choose(state):
    state["asked"] = state.get("asked", 0) + 1
    return state["asked"] % 2 == 1


def f(x, state):
    if choose(state):
        state["path"] = "odd"
    else:
        state["path"] = "even"
        state["tensor"] = x
    if not choose(state):
        state["second"] = x * 2
    return x + state["asked"]


def inputs():
    return torch.randn(2), {}
