# graphs: 2
"""A break inside of inference mode."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(x):
    with torch.inference_mode():
        y = x.exp()
        say("inference", torch.is_inference_mode_enabled())
        z = y + 1
    return z, z.is_inference(), torch.is_inference_mode_enabled()


def inputs():
    return (torch.randn(3),)
