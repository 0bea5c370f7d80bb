# graphs: 3
"""A dict from before the call whose keys are tensors: asked for tensors that it has and has not, walked, written to and shrunk."""

import torch

A, B, C = torch.ones(2), torch.nn.Parameter(torch.zeros(2)), torch.full((2,), 3.0)


def f(table, x, y, lost):
    facts = [x in table, y in table, table.get(y, 7), len(table)]
    total = x * 2
    for key, value in table.items():
        total = total + key * value
        facts.append(key is x)
    if x in table:
        facts.append(table[x])
    table[x] = len(facts)
    table[torch.zeros(1)] = "new"
    if lost in table:
        del table[lost]
    return total, facts, list(table.values()), list(table)[:2]


def inputs():
    return {A: 1, B: 2}, A, C, B


def other():
    return {A: 1, B: 2}, C, A, B


def same():
    return {A: 1, B: 2}, A, A, C


calls = [inputs, inputs, other, same, other, same, inputs]
