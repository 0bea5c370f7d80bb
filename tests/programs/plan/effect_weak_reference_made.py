# graphs: 2
"""Weak references to what was there before are made, put into a dict and called; functools.singledispatch uses them."""

import functools
import weakref

import torch


class Holder:
    def __init__(self):
        self.by = 3


@functools.singledispatch
def scaled(kind, x):
    return x


@scaled.register
def _(kind: int, x):
    return x * kind


@scaled.register(Holder)
def _(kind, x):
    return x * kind.by


GONE = []


def f(x, holder, known):
    link = weakref.ref(holder)
    known[link] = 1
    watched = weakref.ref(holder, GONE.append)
    y = scaled(2, x) + scaled(holder, x) + scaled("other", x)
    same = link() is holder, weakref.ref(holder) is link, watched == link, link in known, type(link), watched is link
    return y * link().by, link, watched, same, weakref.ref(Holder)() is Holder


def inputs():
    return torch.randn(2), Holder(), {}
