# graphs: 1
"""Comprehensions in the body of a class, with variables of the class, of the function around it, and cells that lambdas keep."""

import torch


def f(x, count):
    factor = 3

    class Table:
        sizes = [1, 2]
        rows = [size for size in sizes]
        keeps = [lambda: (size, factor) for size in range(count)]
        scaled = {size: x * size for size in range(count)}

        def total(self):
            return sum(value.sum() for value in self.scaled.values())

    return Table().total(), Table.rows, [keep() for keep in Table.keeps], sorted(vars(Table).keys() & {"size", "rows", "keeps"})


def inputs():
    return torch.ones(2), 3
