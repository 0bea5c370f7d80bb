# graphs: 3
"""A try inside of an except block: the inner one breaks and recovers, the outer one finishes."""

import torch


def f(x):
    steps = []
    y = x + 1
    try:
        steps.append([][0])
    except IndexError:
        steps.append("index")
        try:
            print("inner try")
            y = y * {}["k"]
        except KeyError:
            y = y * 2
            print("inner handler")
            steps.append("key")
        finally:
            steps.append("inner finally")
    finally:
        y = y.cos()
    return y, steps


def inputs():
    return (torch.randn(2),)
