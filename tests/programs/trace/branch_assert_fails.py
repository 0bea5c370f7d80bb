# graphs: 1
"""An assertion on a tensor fails behind writes to a list and an attribute, and is handled by the function's own handler."""

import torch


class State:
    def __init__(self):
        self.seen = 0


state = State()


def f(x, log):
    state.seen = 7
    log.append("before")
    try:
        y = x + 1
        assert (y < 3).all(), f"shape {tuple(y.shape)}"
        y = y * 2
    except AssertionError as error:
        log.append(str(error))
        return x - 1
    log.append("behind")
    return y


def inputs():
    return torch.zeros(4), []


def failing():
    return torch.arange(4.0), []


calls = [inputs, failing, inputs]
