# graphs: 1
"""classmethod and staticmethod objects that the function makes: called, put into a class, and returned."""

import torch


def double(t):
    return t * 2


def f(x):
    plain = staticmethod(double)

    class Local:
        twice = plain
        make = classmethod(lambda cls, n: (cls.__name__, n))

    return plain(x) + Local.twice(x) + Local().twice(x), Local.make(3), plain.__name__, plain


def inputs():
    return (torch.randn(2),)
