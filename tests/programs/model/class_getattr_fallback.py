# graphs: 1
"""__getattr__ serves what is not there; __setattr__ and __delattr__ intercept."""

import torch


class Lazy:
    def __init__(self):
        object.__setattr__(self, "log", [])

    def __getattr__(self, name):
        if name.startswith("scale_"):
            return int(name[6:])
        raise AttributeError(name)

    def __setattr__(self, name, value):
        self.log.append(name)
        object.__setattr__(self, name, value)


def f(x):
    lazy = Lazy()
    lazy.value = x * lazy.scale_3
    return lazy.value, lazy.log, hasattr(lazy, "missing"), getattr(lazy, "none", 5)


def inputs():
    return (torch.randn(2),)
