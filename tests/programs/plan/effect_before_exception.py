# graphs: 2
"""Writes made before an exception that leaves are seen; those after it are not."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(x, state, log):
    state["y"] = x + 1
    log.append("written")
    say("validating")
    state["z"] = state["y"] * 2
    say("failing")
    log.append("last")
    raise ValueError("not valid")
    log.append("never")


def inputs():
    return torch.randn(2), {}, []
