# graphs: 2
"""Attributes of one object are set before, by and after a breaking call."""

import torch


class State:
    pass


def f(x):
    state = State()
    state.first = x * 2
    state.largest = int(state.first.max())
    state.second = state.first - state.largest
    return state.second, vars(state)


def inputs():
    return (torch.arange(3.0),)
