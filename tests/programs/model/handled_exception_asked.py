# graphs: 1
"""sys.exception() inside and outside of a handler."""

import sys

import torch


def f(x):
    seen = [sys.exception()]
    try:
        {}["key"]
    except KeyError:
        seen.append(type(sys.exception()).__name__)
    seen.append(sys.exception())
    return x * 2, seen


def inputs():
    return (torch.ones(3),)
