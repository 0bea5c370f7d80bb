# graphs: 1
"""Mixed dtypes and Python scalars promote as in eager."""

import torch


def f(x, n, flag):
    return x + n, n + 1.5, flag + 1, n / 2, n // 2, x * True, x.half() + 1.0, n * flag, torch.add(n, flag), 2**n, 1 / x


def inputs():
    return torch.randn(3), torch.tensor([1, 2, 3]), torch.tensor([True, False, True])
