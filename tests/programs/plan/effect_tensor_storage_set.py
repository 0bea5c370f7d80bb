# graphs: 1
# whole: no
"""set_ makes an argument share the memory of another one, as a later in-place write shows."""

import torch


def f(x, y):
    z = y + 1
    x.set_(y)
    y.mul_(2)
    return z, x - 1


def inputs():
    return torch.zeros(3), torch.randn(3)
