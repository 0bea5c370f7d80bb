# graphs: 1
"""import statements inside the function."""

import torch


def f(x):
    import math
    from torch.nn import functional as F

    return F.relu(x) * math.tau


def inputs():
    return (torch.randn(2),)
