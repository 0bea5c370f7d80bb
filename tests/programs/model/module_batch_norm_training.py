# graphs: 1
"""BatchNorm in training: running statistics and the batch counter move."""

import torch

f = torch.nn.Sequential(torch.nn.Conv2d(2, 3, 3), torch.nn.BatchNorm2d(3), torch.nn.ReLU())


def inputs():
    return (torch.randn(2, 2, 6, 6),)
