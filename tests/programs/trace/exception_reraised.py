# graphs: 1
"""raise without arguments, raise from, and the chain seen afterwards."""

import torch


def inner():
    try:
        {}["k"]
    except KeyError as error:
        raise RuntimeError("outer") from error


def f(x):
    try:
        try:
            inner()
        except RuntimeError:
            x = x + 1
            raise
    except RuntimeError as error:
        return x * 2, str(error), type(error.__cause__).__name__


def inputs():
    return (torch.randn(2),)
