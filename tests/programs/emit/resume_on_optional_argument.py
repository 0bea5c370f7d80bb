# graphs: 3
"""A mask that is None in one call and a tensor in the other one is used after the break."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(scores, mask=None):
    scaled = scores / 2
    say("attention over", scores.shape[-1])
    if mask is not None:
        scaled = scaled.masked_fill(mask, float("-inf"))
    return scaled.softmax(-1)


def inputs():
    return (torch.randn(2, 3),)


def masked():
    return torch.randn(2, 3), torch.tensor([False, True, False])


calls = [inputs, masked, inputs]
