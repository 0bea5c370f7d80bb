# graphs: 1
"""Two attributes of an argument and two items of a list change places."""

import torch


class Buffers:
    def __init__(self, front, back):
        self.front, self.back = front, back


def f(buffers, items):
    buffers.front, buffers.back = buffers.back, buffers.front
    items[0], items[-1] = items[-1], items[0]
    buffers.front.add_(1)
    return buffers.front - buffers.back


def inputs():
    return Buffers(torch.zeros(2), torch.ones(2)), ["a", "b", "c"]
