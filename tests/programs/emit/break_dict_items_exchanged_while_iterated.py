# graphs: 2
"""An iterator over the items of a dict, which gets a new key for each that it loses, across graph breaks. Releases of one version of
CPython differ: to some the step behind the last item that was expected is an error, to others the end."""

import torch


def f(x, table):
    passed = []
    try:
        for item in table.items():
            passed.append(item)
            if x.sum() > 0:
                table[len(passed)] = table.pop(next(iter(table)))
    except RuntimeError as error:
        passed.append(str(error))
    return passed, table


def inputs():
    return torch.ones(2), {"a": 1, "b": 2}
