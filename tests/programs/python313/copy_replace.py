# graphs: 1
"""copy.replace() of a dataclass, a named tuple and a namespace."""
import collections
import copy
import dataclasses
import types

import torch


@dataclasses.dataclass
class Batch:
    data: torch.Tensor
    size: int = 1


Pair = collections.namedtuple("Pair", "left right")


def f(x):
    batch = copy.replace(Batch(x), size=3)
    pair = copy.replace(Pair(x, 2), right=x * 2)
    names = copy.replace(types.SimpleNamespace(a=1, b=x), a=4)
    return batch.data * batch.size, pair.left + pair.right, names.b * names.a


def inputs():
    return (torch.ones(3),)
