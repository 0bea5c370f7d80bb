# graphs: 1
"""bytes and bytearray values."""

import torch


def f(x):
    data = bytearray(b"abc")
    data.append(100)
    return x + data[0] + len(data), bytes(data), b"xyz"[1]


def inputs():
    return (torch.randn(2),)
