# graphs: 2
"""Prints before and behind a graph break, around an exception, and among writes that they show."""

import types

import torch

import minidynamo

state = types.SimpleNamespace(count=0)


def risky(x, fail):
    print("in", state.count)
    state.count += 1
    if fail:
        raise ValueError("failed")
    return x.cos()


def f(x):
    state.count = 0
    try:
        y = risky(x, False)
        y = risky(y, True)
    except ValueError as error:
        print("caught", error, state.count)
    finally:
        print("finally")
    minidynamo.graph_break()
    print("behind", state.count)
    return y.sin()


def inputs():
    return (torch.ones(2),)
