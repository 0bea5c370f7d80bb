# graphs: 1
"""locals() in a comprehension shows the variables of the function too."""
import torch


def f(x, n):
    shown = [sorted(locals()) for i in range(2)]
    return x * len(shown[0]), shown


def inputs():
    return torch.ones(3), 2
