# graphs: 1
"""A closure over a tensor and a number."""

import torch


def make(scale):
    weight = torch.full((3,), 4.0)

    def apply(x):
        return x * weight + scale

    return apply


f = make(2)


def inputs():
    return (torch.randn(3),)
