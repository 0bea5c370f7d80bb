# graphs: 1
"""Several exceptions in one clause need no parentheses (PEP 758)."""
import torch


def f(x):
    caught = []
    for error in (KeyError("k"), ValueError("v"), ExceptionGroup("g", [TypeError("t")])):
        try:
            try:
                raise error
            except KeyError, ValueError:
                caught.append("plain")
        except* TypeError, OSError:
            caught.append("group")
    return x * len(caught), caught


def inputs():
    return (torch.ones(3),)
