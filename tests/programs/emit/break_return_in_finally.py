# graphs: 2
"""A return in finally replaces an exception that was under way."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(x):
    try:
        y = x * 2
        say("before the error")
        raise ValueError("dropped")
    finally:
        return y + 1


def inputs():
    return (torch.randn(2),)
