# graphs: 2
"""A structure that holds two tensors over the same memory is copied deeply."""

import copy

import torch


def f(x):
    mean = x.mean(0)
    state = {"mean": mean, "first": mean[:1], "steps": [1, 2]}
    saved = copy.deepcopy(state)
    state["steps"].append(3)
    return (x - saved["mean"]).abs() + saved["first"], saved["steps"], state["steps"]


def inputs():
    return (torch.randn(3, 2),)
