# graphs: 1
"""Instances with __call__, and a hand-written iterator."""

import torch


class Countdown:
    def __init__(self, start):
        self.left = start

    def __iter__(self):
        return self

    def __next__(self):
        if self.left == 0:
            raise StopIteration
        self.left -= 1
        return self.left


class Scale:
    def __init__(self, by):
        self.by = by

    def __call__(self, x, plus=0):
        return x * self.by + plus


def f(x):
    for n in Countdown(3):
        x = Scale(n + 1)(x, plus=n)
    return x


def inputs():
    return (torch.randn(2),)
