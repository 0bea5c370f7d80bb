# graphs: 2
"""Instances made inside get numbers from a counter on their class, which goes on at the second call."""

import torch


class Token:
    count = 0

    def __init__(self):
        Token.count += 1
        self.number = Token.count


def f(x):
    first, second = Token(), Token()
    return x + second.number, first.number


def inputs():
    return (torch.randn(2),)
