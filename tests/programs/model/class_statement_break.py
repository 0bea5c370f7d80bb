# graphs: 3
"""Breaks in a class body, in a hook that type.__new__ calls, and while a class is alive."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


class Loud:
    def __init_subclass__(cls):
        say("made", cls.__name__)


def f(x):
    y = x + 1

    class Body:
        say("in the body")
        factor = 2

    class Quiet:
        factor = 3

    y = y * Quiet.factor * Body.factor
    say("both alive")

    class Hooked(Loud):
        factor = 4

    return (y * Hooked.factor + Quiet.factor).relu()


def inputs():
    return (torch.randn(2),)


calls = [inputs]
