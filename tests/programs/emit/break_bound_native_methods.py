# graphs: 2
"""Methods of builtin types, bound before a break, are builtin methods behind it."""

import types

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(x, outside):
    items = [x * 2]
    add, join, get = items.append, ", ".join, {"a": 3}.get
    length, extend = items.__len__, outside.extend
    say("bound")
    add(x * get("a"))
    extend([1])
    kinds = [type(m) is types.BuiltinMethodType for m in (add, join, get, extend)]
    return items[1] + length(), join(["p", "q"]), kinds, type(length), add.__self__ is items, add.__name__, outside


def inputs():
    return torch.randn(2), [0]
