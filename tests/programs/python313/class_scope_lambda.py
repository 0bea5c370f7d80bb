# graphs: 1
# whole: no
"""A lambda and a comprehension in an annotation scope in a class see the names of the class."""
import torch


class Sizes:
    base = 3
    type Steps = [step * 2 for step in (base, base + 1)]
    type Make = (lambda: Sizes.base)


def f(x):
    return x * Sizes.Make.__value__(), Sizes.Steps.__value__


def inputs():
    return (torch.ones(3),)
