# graphs: 1
"""Deques grow at their end: free, full and nearly full ones, empty ones, ones of equal elements, and one that is emptied before."""

import collections

import torch


def f(x, deques, cleared):
    for deque in deques:
        deque.append(x * 2)
        deque.extend([1, 2])
    cleared.clear()
    cleared.append(x + 1)
    return x * 3, [len(deque) for deque in deques], list(deques[0])


def inputs():
    deques = [
        collections.deque([1, 2]),
        collections.deque([1, 1, 1], maxlen=3),
        collections.deque([1], maxlen=3),
        collections.deque([1, 2], maxlen=4),
        collections.deque([2, 1, 2], maxlen=2),
        collections.deque(),
        collections.deque(maxlen=1),
        collections.deque(maxlen=0),
    ]
    return torch.ones(2), deques, collections.deque([1, 2])
