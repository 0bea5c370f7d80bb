import torch


def before(x, weights):
    return x * weights[hash(x)]


def call_before(captured, x):
    return captured(x, {hash(x): 2.0})


def after(x, weights):
    return x * weights["x"]


def call_after(captured, x):
    return captured(x, {"x": 2.0})


def inputs():
    return (torch.ones(3),)
