# graphs: 2
"""A structure that holds a tensor is copied deeply."""

import copy

import torch


def f(x):
    state = {"mean": x.mean(0), "steps": [1, 2]}
    saved = copy.deepcopy(state)
    state["steps"].append(3)
    return (x - saved["mean"]).abs(), saved["steps"], state["steps"]


def inputs():
    return (torch.randn(3, 2),)
