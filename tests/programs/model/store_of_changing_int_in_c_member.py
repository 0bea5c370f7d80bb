# graphs: 2
"""C code keeps the number and not the object: a member of an exception takes the int that another call brings."""

import torch


def f(x, number):
    error = UnicodeDecodeError("utf-8", b"spam!", 0, 5, "reason")
    try:
        error.end = number
    except TypeError:
        return x, "refused"
    syntax = SyntaxError("text")
    syntax.lineno = number
    return x * number, error.end, syntax.lineno


def inputs():
    return torch.ones(2), 2


calls = [inputs, lambda: (torch.ones(2), 3)]
