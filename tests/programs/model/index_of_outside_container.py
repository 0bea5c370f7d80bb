# graphs: 1
"""Indices of containers from outside, past their ends and past 64 bits: the error of each is CPython's."""

import collections

import torch

CONTAINERS = [[1, 2], [], (1, 2), "ab", b"ab", bytearray(b"ab"), range(2), collections.deque([1, 2]), {0: 1}]
INDICES = [0, -1, -2, 2, -3, 2**62, -(2**63), 2**63, 10**20, -(10**20), True, "a", None, 0.0]


def f(x):
    found = []
    for container in CONTAINERS:
        for index in INDICES:
            try:
                found.append(container[index])
            except (IndexError, KeyError, TypeError) as error:
                found.append((type(error), error.args))
    return x + 1, found


def inputs():
    return (torch.ones(2),)
