# graphs: 1
"""type() with three arguments, a metaclass called by hand, type.__new__, and types.new_class."""

import types

import torch


class Meta(type):
    def __new__(mcls, name, bases, namespace):
        return super().__new__(mcls, name + "X", bases, {**namespace, "marked": True})


class Base(metaclass=Meta):
    def apply(self, t):
        return t + 1


def f(x):
    plain = type("Plain", (), {"apply": lambda self, t: t * 3, "n": 4})
    derived = type("Derived", (Base,), {"n": 5})
    by_hand = Meta("ByHand", (derived,), {})
    lowest = type.__new__(type, "Lowest", (dict,), {"get_one": lambda self: self["one"]})
    added = types.new_class("Added", (plain,), {}, lambda namespace: namespace.update(k=9))
    total = plain().apply(x) + derived().apply(x) + by_hand().apply(x) * lowest(one=2).get_one() * added.k
    facts = [(c.__name__, c.__module__, c.__qualname__, type(c).__name__) for c in (plain, derived, by_hand, lowest, added)]
    return total, facts, by_hand.marked, by_hand.n, type(total) is type(x)


def inputs():
    return (torch.randn(2),)
