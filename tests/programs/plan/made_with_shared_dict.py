# graphs: 1
"""Objects of the call's own making that are given a __dict__: themselves, one that they share, a saved state."""

import torch


class Settings(dict):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.__dict__ = self


class Shared:
    state = {}

    def __init__(self):
        self.__dict__ = self.state


class Saved:
    def __init__(self, value):
        self.value = value

    def __getstate__(self):
        return self.__dict__

    def __setstate__(self, state):
        self.__dict__ = state


def f(x):
    settings = Settings(scale=x + 1, inner=Settings(count=1))
    settings.inner.owner = settings
    settings["rate"] = settings.inner.count + 1
    first, second = Shared(), Shared()
    first.total = x * settings.rate
    second.total = second.total + settings.scale
    saved = Saved(x)
    again = Saved.__new__(Saved)
    again.__setstate__(saved.__getstate__())
    again.value = again.value * 2
    replaced = saved.__dict__
    other = Saved(first.total)
    before = other.__dict__
    other.__dict__ = {}
    other.value = len(before)
    names = sorted(settings), "rate" in settings, settings.__dict__ is settings, first.__dict__ is second.__dict__
    return settings, first, second, saved, again, replaced, other, before, names


def inputs():
    Shared.state = {}
    return (torch.tensor([0.5, -1.0]),)
