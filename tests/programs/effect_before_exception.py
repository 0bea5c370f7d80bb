# graphs: 2
"""Writes made before an exception that leaves are seen; those after it are not."""

import torch


def f(x, state, log):
    state["y"] = x + 1
    log.append("written")
    print("validating")
    state["z"] = state["y"] * 2
    print("failing")
    log.append("last")
    raise ValueError("not valid")
    log.append("never")


def inputs():
    return torch.randn(2), {}, []
