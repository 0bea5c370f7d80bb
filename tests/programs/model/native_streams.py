# graphs: 1
"""Texts and bytes are written to streams in memory."""

import array
import io

import torch


def f(x):
    text, data = io.StringIO(), io.BytesIO(b"abcdef")
    text.write("one\n")
    data.seek(2)
    y = x * len(text.getvalue())
    text.write("two")
    numbers = array.array("i", [1, 2])
    numbers.append(3)
    return y + sum(numbers), text.getvalue().splitlines(), data.read(2)


def inputs():
    return (torch.randn(2),)
