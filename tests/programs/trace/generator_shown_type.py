# graphs: 1
"""A generator made in the trace is a generator to all that asks what it is."""

import collections.abc
import inspect
import types

import torch


def counted(n):
    got = yield 0
    for i in range(n):
        got = yield i * (got or 1)
    return "done"


def f(x):
    g = counted(3)
    kinds = (
        type(g) is types.GeneratorType,
        g.__class__ is types.GeneratorType,
        isinstance(g, types.GeneratorType),
        isinstance(g, (int, types.GeneratorType)),
        isinstance(g, collections.abc.Generator),
        isinstance(g, collections.abc.Iterator),
        isinstance(g, collections.abc.Sequence),
        isinstance(g, list),
        inspect.isgenerator(g),
        g.gi_running,
    )
    first = g.__next__()
    second = types.GeneratorType.send(g, 5)
    third = g.send(2)
    step = g.__next__
    names = g.__name__, g.__qualname__, g.gi_yieldfrom, g.gi_suspended, iter(g) is g
    rest = [step()]
    try:
        g.nothing
    except AttributeError as error:
        text = str(error)
    e = (i for i in (1, 2))
    return x * third, kinds, (first, second), names, rest, text, e.__name__, type(e), collections.abc.Iterator.__iter__(g) is g


def inputs():
    return (torch.randn(2),)
