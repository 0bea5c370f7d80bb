# graphs: 2
"""A break in a try block that ends well; the else block computes."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(x):
    try:
        y = x + 1
        say("trying")
        y = y * 2
    except ValueError:
        y = x
    else:
        y = y.tanh()
    finally:
        done = True
    return y, done


def inputs():
    return (torch.randn(2),)
