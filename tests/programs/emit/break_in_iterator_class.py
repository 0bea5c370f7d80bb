# graphs: 3
"""A user's iterator prints at each step of the loop over it."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


class Countdown:
    def __init__(self, start):
        self.left = start

    def __iter__(self):
        return self

    def __next__(self):
        if self.left == 0:
            raise StopIteration
        say("next", self.left)
        self.left -= 1
        return self.left


def f(x):
    y = x + 1
    for n in Countdown(2):
        y = y * 2 + n
    return y.sin()


def inputs():
    return (torch.randn(2),)


calls = [inputs]
