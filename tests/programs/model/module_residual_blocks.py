# graphs: 1
"""Residual blocks with an optional downsampling path."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, inside, outside, stride):
        super().__init__()
        self.conv = nn.Conv2d(inside, outside, 3, stride, 1, bias=False)
        self.norm = nn.BatchNorm2d(outside)
        self.down = None if inside == outside else nn.Conv2d(inside, outside, 1, stride)

    def forward(self, x):
        identity = x if self.down is None else self.down(x)
        out = self.norm(self.conv(x))
        out += identity
        return torch.relu_(out)


f = nn.Sequential(Block(2, 2, 1), Block(2, 4, 2))


def inputs():
    return (torch.randn(2, 2, 8, 8),)
