# graphs: 1
"""A function asks for its own name and line, and its caller's."""

import inspect
import sys

import torch


def where():
    frame = sys._getframe(1)
    return frame.f_code.co_name, frame.f_lineno, frame.f_globals["__name__"] == __name__


def f(x):
    y = x * 2
    own = inspect.currentframe()
    found = where()
    return y + 1, own.f_code.co_name, found


def inputs():
    return (torch.randn(2),)
