# graphs: 2
"""The finally block prints, on the way of a plain result."""

import torch


def f(x):
    y = x + 1
    try:
        y = y * 3
    finally:
        print("cleaning up")
        y = y - 1
    return y


def inputs():
    return (torch.randn(2),)
