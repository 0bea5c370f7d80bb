# graphs: 1
"""Arguments are put into a fresh structure that is stored in another argument and then changed."""

import torch


def f(x, settings, names, store):
    bundle = {"settings": settings, "names": [names, names], "x": x}
    store.append(bundle)
    names.append("late")
    settings["late"] = x + 1
    return bundle["settings"]["late"] * 2


def inputs():
    return torch.randn(2), {"rate": 1}, ["first"], []
