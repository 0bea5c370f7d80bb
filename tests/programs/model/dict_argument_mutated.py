# graphs: 1
"""A dict argument is changed: keys added, replaced and removed."""

import torch


def f(state, x):
    state["step"] += 1
    state["last"] = x * state["step"]
    del state["old"]
    return state["last"] + 1


def inputs():
    return {"step": 4, "old": "value"}, torch.randn(2)
