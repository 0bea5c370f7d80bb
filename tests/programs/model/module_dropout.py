# graphs: 1
"""Dropout in training draws from the generator as eager does."""

import torch

f = torch.nn.Sequential(torch.nn.Dropout(0.3), torch.nn.Linear(8, 8), torch.nn.Dropout(0.5))


def inputs():
    return (torch.ones(4, 8),)
