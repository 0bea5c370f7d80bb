# graphs: 1
"""A user's context manager: enter, exit, value, and an exception that it swallows."""

import torch


class Scope:
    def __init__(self, log, swallow=False):
        self.log, self.swallow = log, swallow

    def __enter__(self):
        self.log.append("enter")
        return self

    def __exit__(self, kind, value, trace):
        self.log.append(kind.__name__ if kind else "exit")
        return self.swallow


def f(x):
    log = []
    with Scope(log) as outer, Scope(log, swallow=True):
        x = x + (outer.log is log)
        raise ValueError("swallowed")
    return x * 2, log


def inputs():
    return (torch.randn(2),)
