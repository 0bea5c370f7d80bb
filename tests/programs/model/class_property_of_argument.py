# graphs: 1
"""A property of an outside object, and a class attribute behind an instance."""

import torch


class Config:
    factor = 3

    def __init__(self):
        self.size = 4

    @property
    def scale(self):
        return self.size * self.factor


CONFIG = Config()


def f(x):
    return x * CONFIG.scale + CONFIG.factor


def inputs():
    return (torch.randn(2),)
