# graphs: 3
"""Thirty steps with a break in each."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(x):
    residual = torch.zeros(2)
    for _ in range(30):
        residual = residual * 0.5 + x
        say(".", end="")
    return residual.round(decimals=3)


def inputs():
    return (torch.ones(2),)
