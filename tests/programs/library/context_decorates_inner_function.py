# graphs: 1
"""torch.no_grad() and torch.enable_grad() decorate functions that the call makes; one of them is returned."""

import torch


def f(x):
    @torch.no_grad()
    def quiet():
        return x * 2

    with torch.no_grad():
        loud = torch.enable_grad()(lambda: x * 3)()
    name = quiet.__code__.co_name
    return quiet(), loud, quiet, name


def inputs():
    return (torch.ones(2, requires_grad=True),)
