# graphs: 1
"""`super` is another name here: what the module calls so, and what a class says that it is."""

import torch


class Base:
    def go(self, x):
        return x + 1


def super(*arguments):
    return Base() if not arguments else arguments[-1]


class Derived(Base):
    def go(self, x):
        return super().go(x) * 2


def f(x):
    return Derived().go(x)


def inputs():
    return (torch.ones(2),)
