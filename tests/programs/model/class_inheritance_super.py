# graphs: 1
"""Inheritance, overriding, super() with and without arguments, diamond order."""

import torch


class Base:
    def run(self, x):
        return x + 1


class Left(Base):
    def run(self, x):
        return super().run(x) * 2


class Right(Base):
    def run(self, x):
        return super(Right, self).run(x) - 3


class Both(Left, Right):
    def run(self, x):
        return super().run(x).sin()


def f(x):
    return Both().run(x), Right().run(x), Base.run(Both(), x)


def inputs():
    return (torch.randn(2),)
