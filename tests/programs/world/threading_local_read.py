# graphs: 1
"""A threading.local from before the call is read."""

import threading

import torch

store = threading.local()
store.factor = 3


def f(x):
    return x * store.factor + getattr(store, "missing", 7)


def inputs():
    return (torch.ones(2),)
