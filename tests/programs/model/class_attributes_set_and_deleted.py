# graphs: 1
"""Attributes of an argument are read, set and deleted."""

import torch


class State:
    pass


def f(state, x):
    state.total = state.total + x
    state.steps += 1
    state.fresh = [x]
    del state.old
    return state.total * state.steps


def inputs():
    state = State()
    state.total, state.steps, state.old = torch.zeros(2), 1, "old"
    return state, torch.randn(2)
