# graphs: 1
"""__init_subclass__ and __set_name__ of classes from before the call and of the trace's own, and __mro_entries__."""

import torch


class Field:
    def __init__(self, default):
        self.default = default

    def __set_name__(self, owner, name):
        self.name = name
        owner.fields = getattr(owner, "fields", ()) + (name,)

    def __get__(self, instance, owner):
        if instance is None:
            return self
        return instance.__dict__.get(self.name, self.default)

    def __set__(self, instance, value):
        instance.__dict__[self.name] = value * 2


class Registered:
    def __init_subclass__(cls, scale=1, **keywords):
        super().__init_subclass__(**keywords)
        cls.scale = scale


class Standing:
    def __init__(self, base):
        self.base = base

    def __mro_entries__(self, bases):
        return (self.base,)


def f(x):
    class Local(Registered, scale=5):
        def __init_subclass__(cls, **keywords):
            super().__init_subclass__(**keywords)
            cls.depth = getattr(cls, "depth", 0) + 1

        width = Field(3)
        height = Field(4)

    class Leaf(Standing(Local), scale=2):
        depth = 7

    one, two = Local(), Leaf()
    two.width = 10
    facts = Local.fields, Local.scale, Leaf.scale, Leaf.depth, Leaf.__bases__ == (Local,), type(Leaf.__orig_bases__[0]).__name__
    return x * one.width * one.scale, x * two.width * two.height, Local.width.name, facts


def inputs():
    return (torch.randn(2),)
