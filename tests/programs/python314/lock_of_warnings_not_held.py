# graphs: 2
"""The lock of the warnings module is released where nobody holds it: an error, at its place."""

import _warnings

import torch


def released():
    try:
        _warnings._release_lock()
    except RuntimeError as error:
        return str(error)
    return "released"


def f(x):
    _warnings._acquire_lock()
    try:
        y = x + 1
    finally:
        first = released()
    return y, first, released(), x * 2


def inputs():
    return (torch.arange(2.0),)
