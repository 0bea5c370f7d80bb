# graphs: 2
"""__getattr__ announces names that are missing and gives a default."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


class Options:
    width = 2

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        say("default for", name)
        return len(name)


def f(x):
    options = Options()
    y = x + options.width
    z = y * options.depth
    return z, hasattr(options, "_private"), getattr(options, "width")


def inputs():
    return (torch.randn(2),)
