# graphs: 1
"""A function is made of text, with globals of its own that it writes to."""

import torch

TEXT = """
count = 1

def scaled(t, factor=3):
    global count
    count += 1
    return t * factor * count
"""


def f(x):
    names = {"offset": 2}
    exec(TEXT, names)
    y = names["scaled"](x) + eval("offset + count", names)
    del names["__builtins__"], names["scaled"]
    return y, names


def inputs():
    return (torch.randn(2),)
