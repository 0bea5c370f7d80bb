# graphs: 7
"""A dict that is cleared in a loop over it, and filled behind a break: what is put where the iterator was is passed over."""

import torch

import minidynamo


def cleared(x, table):
    for _key, value in table.items():
        x = x * value
        table.clear()
        minidynamo.graph_break()
        table["c"] = 3
    return x + len(table)


def replaced(x, table):
    for key in table:
        x = x + table[key]
        del table[key]
        minidynamo.graph_break()
        table["c"] = 3
    return x


def f(which, x, table):
    try:
        return which(x, table)
    except RuntimeError as error:
        return str(error), x


def of(which, table):
    return lambda: (which, torch.ones(2), dict(table))


calls = [of(which, table) for which in (cleared, replaced) for table in ({"a": 2}, {"a": 2, "b": 4}, {})]
inputs = calls[0]
