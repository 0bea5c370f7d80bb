# graphs: 1
"""__get__ of a method that is told its class, called by hand with a class, and with what is none."""

import io

import torch


def f(x):
    method = io.TextIOBase.read
    buffer = io.StringIO("abc")
    found = [type(method.__get__(buffer, io.StringIO)).__name__, str.upper.__get__("a", "no class")()]
    try:
        method.__get__(buffer, "no class")
    except TypeError as error:
        found.append(str(error))
    return x + 1, found


def inputs():
    return (torch.ones(2),)
