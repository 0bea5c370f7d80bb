# graphs: 2
"""The captured function itself is a closure over a tensor and a dict."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def make(bias, options):
    def shifted(x):
        y = x + bias
        say(sorted(options))
        return y * options["scale"] - bias

    return shifted


f = make(torch.ones(2), {"scale": 3})


def inputs():
    return (torch.randn(2),)
