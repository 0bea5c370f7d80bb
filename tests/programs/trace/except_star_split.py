# graphs: 1
"""except* takes an exception group apart: several clauses, what sys.exc_info() says in each, and the rest raised again."""

import sys

import torch


def f(x):
    seen = []
    y = x + 1
    try:
        try:
            raise ExceptionGroup("outer", [ValueError(1), TypeError(2), ExceptionGroup("inner", [ValueError(3), KeyError("k")])])
        except* ValueError as group:
            seen.append(group)
            seen.append(repr(sys.exc_info()[1]))
            y = y * len(group.exceptions)
        except* (TypeError, OSError) as group:
            seen.append(repr(group))
            seen.append(repr(sys.exc_info()[1]))
            y = y.relu()
    except ExceptionGroup as rest:
        seen.append(repr(rest))
        y = y - len(rest.exceptions)
    seen.append(sys.exc_info())
    return y.sin(), seen


def inputs():
    return (torch.randn(2),)
