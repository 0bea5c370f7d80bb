# graphs: 0
"""Code of a module with annotations, in which their names are collected in what is no set."""

import torch

SOURCE = """
__conditional_annotations__ = 0
x: int
"""


def f(x):
    y = x + 1
    try:
        exec(SOURCE, {})
    except (TypeError, SystemError) as error:
        return y, isinstance(error, Exception)
    return y


def inputs():
    return (torch.ones(2),)
