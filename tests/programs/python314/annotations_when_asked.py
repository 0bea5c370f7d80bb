# graphs: 1
"""Annotations are evaluated when they are asked for (PEP 649), in the scope where they stand."""
import torch


class Box:
    size: int
    later: Later


class Later:
    pass


def made(n):
    width = n * 2

    def inner(x: width, *, by: "text" = 1) -> Missing:
        return x * by

    return inner


def f(x, n):
    inner = made(n)
    try:
        inner.__annotations__
    except NameError as error:
        message = str(error)
    return inner(x, by=n), message, callable(inner.__annotate__), made(n).__annotate__ is None, f.__annotations__


def inputs():
    return torch.ones(3), 4
