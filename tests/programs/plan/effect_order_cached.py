# graphs: 1
"""A cached function that reads what was written before its call, in an attribute and in a list, and is written again."""

import functools

import torch


class Config:
    def __init__(self):
        self.v = 1


CONFIG = Config()
ITEMS = [1]


@functools.lru_cache
def cached(k):
    return k + CONFIG.v + len(ITEMS)


def f(x):
    CONFIG.v += 5
    ITEMS.append(2)
    y = x * cached(3)
    CONFIG.v += 6
    ITEMS.append(3)
    return y + cached(4), cached.__wrapped__(5)


def inputs():
    return (torch.ones(2),)


calls = [inputs]
