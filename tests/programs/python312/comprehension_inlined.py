# graphs: 1
"""Comprehensions are part of the function that holds them: their variables hide those of the function, which come back after them."""

import torch


def f(x, values):
    x_of = "outer"
    i = x + 1
    squares = [i * i for i in values]
    table = {k: [k + j for j in values] for k in values}
    unique = {i % 2 for i in values}
    nested = [[i * j for j in range(i)] for i in values if i > 1]
    read = [lambda: i for i in values]
    total = sum(x * v for v in squares)
    try:
        [1 // (v - 2) for v in values]
    except ZeroDivisionError as error:
        x_of = str(error)
    return total + i, squares, table, sorted(unique), nested, [function() for function in read], x_of


def inputs():
    return torch.ones(3), [1, 2, 3]
