# graphs: 3
"""A try inside of an except block: the inner one breaks and recovers, the outer one finishes."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(x):
    steps = []
    y = x + 1
    try:
        steps.append([][0])
    except IndexError:
        steps.append("index")
        try:
            say("inner try")
            y = y * {}["k"]
        except KeyError:
            y = y * 2
            say("inner handler")
            steps.append("key")
        finally:
            steps.append("inner finally")
    finally:
        y = y.cos()
    return y, steps


def inputs():
    return (torch.randn(2),)
