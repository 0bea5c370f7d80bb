# graphs: 2
"""An exception leaves through a finally block with a break, which changes an argument."""

import torch


def f(x, state):
    y = x + 1
    try:
        if len(state) == 0:
            raise LookupError("empty state")
    finally:
        state["before"] = y
        print("leaving", sorted(state))
        state["after"] = y * 2
        print("left")


def inputs():
    return torch.randn(2), {}
