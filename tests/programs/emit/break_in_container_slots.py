# graphs: 4
"""__getitem__, __setitem__, __len__ and __contains__ of a user's container print."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


class Store:
    def __init__(self):
        self.items = {}

    def __setitem__(self, key, value):
        say("set", key)
        self.items[key] = value

    def __getitem__(self, key):
        say("get", key)
        return self.items[key]

    def __len__(self):
        say("len")
        return len(self.items)

    def __contains__(self, key):
        return key in self.items


def f(x):
    store = Store()
    store["a"] = x * 2
    y = x - 1
    z = store["a"] + y
    return z * len(store), "a" in store, "b" in store


def inputs():
    return (torch.randn(2),)
