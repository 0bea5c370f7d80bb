# graphs: 1
"""A bytearray argument is changed by index, slice and method."""

import torch


def f(data, x):
    y = x + data[0]
    data[0] = 65
    data[2:4] = b"zz"
    data.append(33)
    data += b"?"
    return y * len(data), bytes(data)


def inputs():
    return bytearray(b"abcdef"), torch.randn(2)
