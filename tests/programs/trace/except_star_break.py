# graphs: 4
"""Breaks in the clauses of except*: the groups come from before the resume functions."""

import sys

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(x):
    y = x + 1
    seen = []
    try:
        try:
            raise ExceptionGroup("g", [ValueError(1), TypeError(2), KeyError(3)])
        except* ValueError as group:
            say("values", repr(group))
            y = y * 2
            seen.append(repr(sys.exc_info()[1]))
        except* TypeError as group:
            say("types", repr(group), repr(sys.exc_info()[1]))
            y = y.sin()
            seen.append(repr(group))
    except ExceptionGroup as rest:
        seen.append(repr(rest))
    return y.relu(), seen


def inputs():
    return (torch.randn(2),)
