# graphs: 1
"""A deleted attribute falls back to the class's one, and comes back at the end of the instance's dict."""

import torch


class Settings:
    rate = 10

    def __init__(self):
        self.rate, self.name = 2, "run"


def f(x, settings):
    y = x * settings.rate
    del settings.rate
    z = y + settings.rate
    settings.rate = 5
    return z


def inputs():
    return torch.randn(2), Settings()
