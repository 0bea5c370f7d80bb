# graphs: 1
"""A sinusoidal table computed with Python loops and tensor writes."""

import math

import torch


def f(x):
    length, dim = x.shape
    table = torch.zeros(length, dim)
    position = torch.arange(length, dtype=torch.float).unsqueeze(1)
    scale = torch.exp(torch.arange(0, dim, 2).float() * (-math.log(10000.0) / dim))
    table[:, 0::2] = torch.sin(position * scale)
    table[:, 1::2] = torch.cos(position * scale)
    return x + table


def inputs():
    return (torch.randn(5, 6),)
