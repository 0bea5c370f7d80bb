# graphs: 0
"""A window of limited length: a deque argument is filled from both ends and rotated."""

import collections

import torch


def f(window, x):
    window.append(x * 2)
    window.appendleft("oldest")
    window.rotate(1)
    last = window.pop()
    window.extend([7, 8])
    return last, len(window), window.maxlen


def inputs():
    return collections.deque([1, 2, 3], maxlen=3), torch.randn(2)
