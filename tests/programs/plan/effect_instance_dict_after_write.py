# graphs: 1
"""vars() of an argument is asked for after its attributes were read and written."""

import torch


class Settings:
    def __init__(self):
        self.rate, self.name = 2, "run"


def f(x, settings):
    y = x * settings.rate
    settings.rate = 3
    settings.extra = "new"
    names = list(vars(settings))
    vars(settings)["name"] = "walk"
    return y * settings.rate, names, settings.name


def inputs():
    return torch.randn(2), Settings()
