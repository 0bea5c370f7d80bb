# graphs: 14
"""What shows an address in its text, inside of what shows its parts: a partial, a slice, a view, a proxy, a namespace, a default
factory. None of these texts can be part of a capture; those of values can."""

import collections
import functools
import re
import types

import torch


def g(x):
    return x + 1


SHOWN = re.compile("0x[0-9a-f]+")


def f(x, key):
    plain = [
        str(slice(1, None)), str({"a": 1}.keys()), str(types.SimpleNamespace(a=1)), str(collections.defaultdict(list, a=[1])),
        f"{list[int]} {int | None} {torch.float32} {types.MappingProxyType({1: 2})}", repr({1, 2}), "%s" % (3.5,),
    ]  # fmt: skip
    y = x * len(plain)
    made = [
        functools.partial(g, 1), slice(g, None), {"a": g}.values(), {"a": g}.items(), types.MappingProxyType({"a": g}),
        types.SimpleNamespace(g=g), collections.defaultdict(lambda: 1),
    ]  # fmt: skip
    return plain, SHOWN.sub("at", str(made[key])), hex(id(g)) in str(made[key]), y + 1


def inputs():
    return torch.ones(2), 0


calls = [inputs, *(lambda key=key: (torch.ones(2), key) for key in range(7))]
