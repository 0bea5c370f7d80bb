# graphs: 1
"""Sentinels, translation tables, sort keys, JSON, paths, version tuples, generic aliases and unions."""

import collections
import functools
import json
import operator
import os.path
import sys
import weakref

import torch


class Store:
    def scaled(self, x, by, plus=0):
        return x * by + plus

    doubled = functools.partialmethod(scaled, 2, plus=1)

    def __fspath__(self):
        return "/store"


STORE = Store()
LINK = weakref.ref(STORE)


class Box(list):
    __class_getitem__ = classmethod(type(list[int]))


def compare(a, b):
    return (a[1] > b[1]) - (a[1] < b[1])


def f(x, text, path):
    missing = object()
    found = {"a": 1}.get("b", missing) is missing
    moved = text.translate(str.maketrans({"a": "b", "c": None})), text.translate(str.maketrans("ab", "ba"))
    ordered = sorted([("p", 3), ("q", 1), ("r", 2)], key=functools.cmp_to_key(compare))
    y = STORE.doubled(x) + LINK().scaled(x, 3)
    dumped = json.dumps({"k": [1, 2.5, None, True, "é"], "n": {"z": 1, "a": 2}}, sort_keys=True, indent=2)
    loaded = json.loads('{"a": [1, 2.5, null, "x"], "b": {"c": false}}')
    try:
        json.loads("{")
    except ValueError as error:
        problem = str(error)
    joined = os.path.join(path, "part", "file.txt"), os.path.splitext("a/b.tar"), os.path.normpath("a/../b")
    joined += os.path.basename(path), os.fspath(STORE), os.path.dirname("/x/y")
    new = sys.version_info >= (3, 8), sys.version_info.major, sys.version_info[:2]
    called = operator.methodcaller("split", sep=",")("a,b")
    made = list[int]((1, 2)), dict[str, int](a=1), type(Box[int]([1]))
    chain = repr(collections.ChainMap({"a": 1}, {"b": 2}))
    return y, found, moved, ordered, dumped, loaded, problem, joined, new, called, made, chain, int | None, [missing, missing]


def inputs():
    return torch.randn(2), "abcabc", "/some/where"
