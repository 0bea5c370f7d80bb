# graphs: 1
"""After an except block the name is gone and sys.exc_info is empty."""

import sys

import torch


def f(x):
    try:
        raise ValueError
    except ValueError as error:
        inside = sys.exc_info()[0] is ValueError
    try:
        error  # noqa: F821
    except UnboundLocalError:
        gone = True
    return x + 1, inside, gone, sys.exc_info()[0]


def inputs():
    return (torch.randn(2),)
