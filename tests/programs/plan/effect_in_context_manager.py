# graphs: 1
"""A context manager from outside counts its depth, and restores a setting of an argument."""

import torch


class Override:
    depth = 0

    def __init__(self, target, **values):
        self.target, self.values = target, values

    def __enter__(self):
        self.depth += 1
        self.saved = {name: self.target[name] for name in self.values}
        self.target.update(self.values)

    def __exit__(self, *error):
        self.target.update(self.saved)
        self.depth -= 1


def f(x, settings, override):
    with override:
        y = x * settings["scale"]
    return y + settings["scale"], override.depth


def inputs():
    settings = {"scale": 2, "other": 3}
    return torch.randn(2), settings, Override(settings, scale=10)
