# graphs: 2
"""Iterators over a set, a frozenset, strings and bytes are in use when a graph ends: they keep their types, and go on."""

import torch

import minidynamo


def f(x, outside, names):
    numbers, letters, wide, raw = iter({3, 1, 2}), iter("abc"), iter("a\u20ac"), iter(b"xyz")
    rest, ended = iter(names), iter({1})
    total = x * next(numbers) + ord(next(letters)) - next(raw) + len(next(rest)) + next(outside) + next(ended)
    next(wide), next(ended, None)
    minidynamo.graph_break()
    kinds = [type(each).__name__ for each in (numbers, letters, wide, raw, rest, ended, outside)]
    for number, letter in zip(numbers, letters):
        total = total * number + ord(letter)
    return total, kinds, list(numbers), list(letters), list(wide), list(raw), len(list(rest)), list(ended), next(outside)


def inputs():
    return torch.randn(2), iter({5, 6, 7}), frozenset({"a", "b"})
