# graphs: 1
"""The __dict__ of an argument is updated as a whole."""

import torch


class Options:
    def __init__(self, **options):
        self.__dict__.update(options)


def f(x, options):
    options.__dict__.update(depth=2, mean=x.mean())
    vars(options)["width"] += 1
    return x * options.width + options.depth


def inputs():
    return torch.randn(2), Options(width=3)
