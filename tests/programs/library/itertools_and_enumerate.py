# graphs: 1
"""enumerate, zip, reversed, map, filter, itertools."""

import itertools

import torch


def f(x):
    total = x
    for i, (a, b) in enumerate(zip([1, 2, 3], reversed([4, 5, 6])), start=1):
        total = total * a + b * i
    evens = list(filter(lambda n: n % 2 == 0, map(lambda n: n * 3, range(6))))
    chained = list(itertools.chain([1], [2, 3]))
    products = list(itertools.product("ab", [0, 1]))
    running = list(itertools.accumulate([1, 2, 3]))
    return total, evens, chained, products, running, list(itertools.islice(itertools.count(5), 3))


def inputs():
    return (torch.randn(2),)
