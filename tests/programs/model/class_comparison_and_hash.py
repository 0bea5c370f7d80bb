# graphs: 1
"""__eq__, __lt__, __hash__ and total_ordering; instances as dict keys."""

import functools

import torch


@functools.total_ordering
class Version:
    def __init__(self, *parts):
        self.parts = parts

    def __eq__(self, other):
        return self.parts == other.parts

    def __lt__(self, other):
        return self.parts < other.parts

    def __hash__(self):
        return hash(self.parts)


def f(x):
    table = {Version(1, 2): x, Version(2): x + 1}
    newest = max(table)
    return table[Version(1, 2)] * 2, table[newest], Version(1) <= Version(1, 0), sorted(table)[0].parts


def inputs():
    return (torch.randn(2),)
