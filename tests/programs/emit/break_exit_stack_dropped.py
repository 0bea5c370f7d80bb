# graphs: 7
"""A loop drops the ExitStack of the step before, with a context manager in it that nobody has left: its generator ends there."""

import contextlib

import torch


@contextlib.contextmanager
def noted(log):
    try:
        yield len(log)
    finally:
        log.append("left")


def f(x, log):
    for step in range(3):
        if x.sum() > 100:
            return x
        with contextlib.ExitStack() as stack:
            log.insert(0, step)
        x = x + 1
        if x.sum() < 0:
            return x
        stack.enter_context(noted(log))
    return x * 2, log


def inputs():
    return torch.ones(2), []
