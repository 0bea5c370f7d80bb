# graphs: 1
"""Nested loops with break out of the inner one only."""

import torch


def f(x):
    for i in range(3):
        for j in range(5):
            if j > i:
                break
            x = x + i * j
    return x


def inputs():
    return (torch.randn(3),)
