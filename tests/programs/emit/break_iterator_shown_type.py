# graphs: 2
"""Iterators from before a break are what they were to all that asks, and have the methods of their types."""

import collections.abc

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(x):
    over_list, over_tuple, over_range = iter([x, x + 1, 3]), iter((1, 2)), iter(range(5))
    keys, values, items = iter({"a": 1, "b": 2}), iter({"a": 1}.values()), iter({"a": 1}.items())
    numbered, zipped = enumerate([5, 6, 7]), zip([1, 2], (3, 4))
    say("made")
    made = over_list, over_tuple, over_range, keys, values, items, numbered, zipped
    kinds = [type(m) for m in made], [m.__class__.__name__ for m in made]
    asked = (
        isinstance(numbered, enumerate),
        isinstance(zipped, (zip, list)),
        isinstance(numbered, zip),
        [isinstance(m, collections.abc.Iterator) for m in made],
        [isinstance(m, collections.abc.Sized) for m in made],
    )
    y = over_list.__next__() * 2
    step = numbered.__next__
    taken = step(), enumerate.__next__(numbered), zipped.__next__(), type(keys).__next__(keys), iter(zipped) is zipped
    return y, kinds, asked, taken, list(over_range), list(numbered), made


def inputs():
    return (torch.randn(2),)
