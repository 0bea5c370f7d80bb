# graphs: 5
"""A dict gets a new key for each that it loses in a loop over it, across graph breaks: as large as before, and the step
behind the last one that was expected is an error."""

import torch


def exchange(x, table, view):
    passed = []
    for item in view(table):
        passed.append(item)
        if x.sum() > 0:
            table[len(passed)] = table.pop(next(iter(table)))
    return passed


def f(x, table):
    texts = []
    for view in (dict.keys, dict.values):
        try:
            texts.append(exchange(x, table, view))
        except RuntimeError as error:
            texts.append((str(error), error.__traceback__.tb_next.tb_lineno - exchange.__code__.co_firstlineno))
    return x + 1, texts, table


def inputs():
    return torch.ones(2), {"a": 1, "b": 2}
