# graphs: 1
"""A metaclass with __prepare__, __new__, __init__ and __call__; keywords; a namespace that counts."""

import torch


class Counting(dict):
    def __setitem__(self, key, value):
        if not key.startswith("__"):
            self.setdefault("__order__", []).append(key)
        super().__setitem__(key, value)


class Meta(type):
    @classmethod
    def __prepare__(mcls, name, bases, **keywords):
        namespace = Counting()
        namespace["given"] = sorted(keywords)
        return namespace

    def __new__(mcls, name, bases, namespace, **keywords):
        made = super().__new__(mcls, name.upper(), bases, dict(namespace))
        made.made_by = mcls.__name__
        return made

    def __init__(cls, name, bases, namespace, **keywords):
        super().__init__(name, bases, namespace)
        cls.options = keywords

    def __call__(cls, *args):
        made = super().__call__(*args)
        made.called = True
        return made

    def __len__(cls):
        return len(cls.__order__)


def f(x):
    class Thing(metaclass=Meta, scale=3):
        first = 1

        def apply(self, t):
            return t * self.options["scale"]

    class Other(Thing, shift=2):
        def apply(self, t):
            return super().apply(t) if self.called else t

    Thing.options["scale"] += 1
    Other.options.update(Thing.options)
    facts = Thing.__name__, Thing.given, Thing.__order__, len(Thing), Thing.made_by, Other.options, type(Other) is Meta
    return Thing().apply(x), Other().apply(x), facts


def inputs():
    return (torch.randn(2),)
