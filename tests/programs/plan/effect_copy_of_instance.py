# graphs: 1
"""copy.copy, copy.deepcopy and dataclasses.asdict of instances whose attributes were read before."""

import copy
import dataclasses

import torch


class Point:
    def __init__(self, left, items):
        self.left = left
        self.items = items


@dataclasses.dataclass
class Pair:
    a: int
    b: list
    inner: object = None


def f(x, point, pair):
    y = x * point.left + pair.a
    shallow, deep = copy.copy(point), copy.deepcopy(point)
    deep.items.append(3)
    shallow.left = 7
    point.left = 9
    plain = dataclasses.asdict(Pair(1, [pair.b], pair))
    other = dataclasses.replace(pair, a=5)
    return y, shallow.items is point.items, deep, shallow, plain, other, dataclasses.astuple(pair), copy.copy({1, 2})


def inputs():
    return torch.randn(2), Point(2, [1, 2]), Pair(3, [4])
