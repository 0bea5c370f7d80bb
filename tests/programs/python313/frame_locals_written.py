# graphs: 0
"""f_locals of a function's frame writes to the variables (PEP 667)."""
import sys

import torch


def f(x, n):
    y = x * n
    sys._getframe().f_locals["n"] = 7
    return y * n


def inputs():
    return torch.ones(3), 4
