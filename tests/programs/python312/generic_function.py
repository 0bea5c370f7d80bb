# graphs: 2
"""A generic function and a generic class, made where they are called: their type parameters are objects of the call."""

import torch


def f(x, items):
    def first[T](values: list[T]) -> T:
        return values[0]

    class Pair[A, *Rest, **Names]:
        def __init__(self, left: A, *rest: *Rest) -> None:
            self.left, self.rest = left, rest

        def map[B](self, function) -> "Pair[B]":
            return Pair(function(self.left), *self.rest)

    pair = Pair(x, 1, 2).map(torch.sin)
    names = [parameter.__name__ for parameter in (*first.__type_params__, *Pair.__type_params__)]
    return pair.left * first(items), pair.rest, names, Pair[int, str].__args__


def inputs():
    return torch.linspace(0.0, 1.0, 4), [2, 3]
