# graphs: 2
"""Several managers in one with statement: no_grad, a user's one, and nullcontext."""

import contextlib

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


class Named:
    def __init__(self, names, name):
        self.names, self.name = names, name

    def __enter__(self):
        self.names.append("+" + self.name)
        return self.names

    def __exit__(self, *error):
        self.names.append("-" + self.name)


def f(weight):
    with Named([], "a") as names, torch.no_grad(), contextlib.nullcontext(3) as three, Named(names, "b"):
        y = weight * three
        say(names)
        y = y + weight
    return y + 1, names


def inputs():
    return (torch.randn(2, requires_grad=True),)
