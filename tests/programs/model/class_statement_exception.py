# graphs: 1
"""An exception class that is defined, raised and caught in the function, and classes derived from containers."""

import torch


def f(x):
    class Failed(ValueError):
        def __init__(self, t):
            super().__init__("failed")
            self.t = t

    class Stack(list):
        def push(self, item):
            self.append(item)
            return self

    class Defaults(dict):
        def __missing__(self, key):
            return key * 2

    try:
        raise Failed(x + 1)
    except ValueError as error:
        y, text = error.t, f"{type(error).__name__}: {error}"
    stack = Stack([1]).push(y).push(2)
    return stack[1] * Defaults(a=1)[3], len(stack), text


def inputs():
    return (torch.randn(2),)
