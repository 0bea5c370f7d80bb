# graphs: 1
"""Data and non-data descriptors with __set_name__."""

import torch


class Typed:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, instance, owner):
        return self if instance is None else getattr(instance, self.name) + 1

    def __set__(self, instance, value):
        setattr(instance, self.name, value * 2)


class Constant:
    def __get__(self, instance, owner):
        return 10


class Holder:
    value = Typed()
    constant = Constant()


def f(x):
    holder = Holder()
    holder.value = x
    first = holder.constant
    holder.__dict__["constant"] = 20
    return holder.value, first, holder.constant


def inputs():
    return (torch.randn(2),)
