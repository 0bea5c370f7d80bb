# graphs: 1
"""A key that is deleted and set again goes to the end; one that is set again stays."""

import torch


def f(scores, x):
    value = scores["a"]
    del scores["a"]
    scores["b"] = x.sum()
    scores["a"] = value + 1
    return list(scores), x * scores["a"]


def inputs():
    return {"a": 1, "b": 2, "c": 3}, torch.randn(2)
