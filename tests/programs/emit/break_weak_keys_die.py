# graphs: 2
# whole: no
"""Keys of weak dictionaries die when their last strong references go: a variable's, a list's item."""

import weakref

import torch


class Key:
    def __init__(self, number):
        self.number = number

    def __hash__(self):
        return self.number

    def __eq__(self, other):
        return self.number == other.number


def f(x, table, held):
    keys = [Key(number) for number in range(4)]
    for key in [*keys, *held]:
        table[key] = key.number
    sizes = [len(table)]
    del key
    copied = table.copy()
    del keys[0]
    sizes.append((len(table), len(copied)))
    one = keys[1]
    keys = None
    sizes.append((len(table), len(copied)))
    del held[-1]
    sizes.append((len(table), len(copied)))
    return x * len(copied), sizes, one, sorted(table.values())


def inputs():
    return torch.randn(2), weakref.WeakKeyDictionary(), [Key(10), Key(11)]
