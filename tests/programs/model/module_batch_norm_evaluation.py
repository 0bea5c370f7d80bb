# graphs: 1
"""BatchNorm in evaluation: statistics are used and stay."""

import torch

f = torch.nn.BatchNorm1d(4).eval()


def inputs():
    return (torch.randn(5, 4),)
