# graphs: 1
"""Bound method as target: self's attributes are inputs."""

import torch


class Affine:
    def __init__(self):
        self.weight = torch.randn(3, 3)
        self.bias = torch.randn(3)

    def apply(self, x):
        return x @ self.weight + self.bias


f = Affine().apply


def inputs():
    return (torch.randn(2, 3),)
