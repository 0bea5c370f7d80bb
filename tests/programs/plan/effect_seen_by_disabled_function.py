# graphs: 2
"""What was written before a call that is not captured is visible in it, and what it writes after it."""

import torch

import minidynamo


@minidynamo.disable
def audit(state):
    state["seen"] = sorted(state)
    state["count"] += 10


def f(x, state):
    state["count"] += 1
    state["y"] = x * 2
    audit(state)
    state["count"] *= 2
    return state["y"] + state["count"]


def inputs():
    return torch.randn(2), {"count": 0}
