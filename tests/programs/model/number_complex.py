# graphs: 1
"""Complex numbers and complex tensors."""

import torch


def f(x):
    z = complex(1, 2) * 1j
    y = x * z
    return y, z.conjugate(), y.real, torch.view_as_real(y)


def inputs():
    return (torch.randn(3),)
