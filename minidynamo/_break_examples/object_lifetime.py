import sys

import torch


def before(x, cache):
    y = x * 2
    cache.append(y)
    if sys.getrefcount(cache) > 100:
        cache.clear()
    return y + 1


def after(x, cache):
    y = x * 2
    cache.append(y)
    return y + 1


def call_after(captured, x, cache):
    result = captured(x, cache)
    if sys.getrefcount(cache) > 100:
        cache.clear()
    return result


def inputs():
    return torch.ones(3), []
