# graphs: 4
# whole: no
"""A metaclass whose own attributes go through Python code before the class is made: the class is needed at the end."""

import torch


class Meta(type):
    def __getattribute__(cls, name):
        return type.__getattribute__(cls, name)

    def __new__(mcls, name, bases, namespace):
        return super().__new__(mcls, name + "X", bases, {**namespace, "marked": True})


class Base(metaclass=Meta):
    def apply(self, t):
        return t + 1


def f(x):
    derived = type("Derived", (Base,), {"n": 5})
    y = derived().apply(x)
    return y * derived.n, derived


def inputs():
    return (torch.randn(2),)
