"""Errors whose text is the interpreter's own, not an operator's or a builtin's: what an instruction makes of a value that
does not fit. Each is caught in the captured function, so that its type and text decide what it returns."""

import copy
import re
import sys

import pytest
import torch

import minidynamo


class WithoutKeys:
    def __getattr__(self, name):
        raise AttributeError("own " + name)


class FailingIter:
    def __iter__(self):
        raise TypeError("own text")


class NoIter:
    __iter__ = None


class FailingItem:
    def __getitem__(self, index):
        raise TypeError("own item")


class OnlyEnter:
    def __enter__(self):
        return 1


class OnlyExit:
    def __exit__(self, *exception):
        return True


class FailingKey:
    def keys(self):
        return ["a"]

    def __getitem__(self, key):
        raise KeyError(("x", "y"))


class NumbersAsKeys:
    def keys(self):
        return [1]

    def __getitem__(self, index):
        if index > 3:
            raise IndexError(index)
        return 1


class FailingKeys:
    def keys(self):
        raise AttributeError("in keys")


VALUES = [
    "a",
    3,
    None,
    [1],
    WithoutKeys(),
    FailingIter(),
    NoIter(),
    FailingItem(),
    OnlyEnter(),
    OnlyExit(),
    FailingKey(),
    NumbersAsKeys(),
    FailingKeys(),
    {1: 2},
    {"a": 2},
    {"k": 3},
    (1,),
    int,
    iter([]),
]

BODIES = {
    "dict display": "r = {**t}",
    "keywords": "r = g(**t)",
    "keywords after one": "r = g(a=1, **t)",
    "keywords twice": "r = g(1, **{'b': 2}, **t)",
    "arguments": "r = g(*t)",
    "arguments after one": "r = g(1, *t)",
    "arguments before one": "r = g(*t, 2)",
    "arguments and keywords": "r = g(*[1], *t, **t)",
    "keywords of what is no function": "r = t(**t)",
    "arguments of what is no function": "r = t(*t)",
    "no function": "r = t()",
    "list display": "r = [1, *t]",
    "tuple display": "r = (*t, 2)",
    "set display": "r = {1, *t}",
    "unpacking": "a, b = t; r = a",
    "starred unpacking": "a, *b = t; r = b",
    "membership": "r = 1 in t",
    "comprehension": "r = [a for a in t]",
    "with": "with t: r = 1",
    "with target": "with t as (a, b): r = 1",
    "subscript": "r = t[0]",
    "item": "t[0] = 1; r = t",
    "item deletion": "del t[0]; r = t",
    "slice": "r = t[0:1]",
    "negation": "r = -t",
    "inversion": "r = ~t",
    "addition": "r = t + t",
    "addition in place": "t += 1; r = t",
    "order": "r = t < t",
    "attribute": "r = t.missing",
    "import": "from math import missing",
    "raise": "raise t",
    "raise from": "raise ValueError from t",
    "except": "\n        try: 1 / 0\n        except t: r = 1",
    "yield from": "r = list(passed_on(t))",
    "format": "r = f'{t:>3}'",
    "match": (
        "\n        match t:\n            case {'a': 1}: r = 1\n            case [a, b]: r = 2"
        "\n            case FailingIter(x): r = 3\n            case _: r = 4"
    ),
    "unbound local": "del t; r = t",
    "missing global": "r = no_such_name",
}


def g(*args, **kwargs):
    return args, kwargs


def passed_on(values):
    yield from values


def shown(function, value):
    """The result of a call, as text without addresses."""
    return re.sub(r"0x[0-9a-f]+", "0x", repr(function(value, torch.ones(1))))


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_text(body):
    text = (
        f"def f(t, x):\n    try:\n        {body}\n"
        "    except Exception as error:\n"
        "        r = type(error), str(error), repr(error.__cause__), repr(error.__context__)\n"
        "    return r, x + 1\n"
    )
    names = dict(vars(sys.modules[__name__]))
    exec(text, names)
    for value in VALUES:
        minidynamo.reset()
        captured = minidynamo.optimize(backend="eager")(names["f"])
        assert shown(captured, copy.deepcopy(value)) == shown(names["f"], copy.deepcopy(value)), value
