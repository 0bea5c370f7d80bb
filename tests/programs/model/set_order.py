# graphs: 2
"""The order in which sets iterate: it follows from all that was ever put in and taken out."""

import torch


class Bag(set):
    pass


class Fixed(frozenset):
    pass


def f(x, given, bag, items):
    seen = list(given)
    given.discard(16)
    given.add(24)
    bag |= {40, 8}
    made = {item * 8 for item in items}
    made.remove(32)
    made.add(1)
    joined = (given | made) - {0}
    every = [given, bag, made, joined, Bag(made), Fixed(made), frozenset(joined), made.copy(), given ^ made]
    popped = made.pop()
    return x + len(seen), seen, [list(one) for one in every], every, popped


def inputs():
    given = set()
    for item in (48, 16, 8, 0, 64, 72, 24, 56, 40):
        given.add(item)
    for item in (48, 24, 40):
        given.remove(item)
    return torch.randn(2), given, Bag([33, 17, 9, 1, 25]), [5, 4, 1, 0, 2, 9]


def in_other_order():
    return torch.randn(2), set([0, 8, 16, 56, 64, 72]), Bag([1, 9, 17, 25, 33]), [0, 1, 2, 4, 5, 9]


calls = [inputs, inputs, in_other_order, inputs]
