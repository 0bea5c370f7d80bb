# graphs: 1
"""Embedding, LayerNorm, GroupNorm, RMSNorm, GELU, Softmax."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(10, 8, padding_idx=0)
        self.norms = nn.ModuleList([nn.LayerNorm(8), nn.RMSNorm(8), nn.GroupNorm(2, 4)])
        self.act = nn.Sequential(nn.GELU(approximate="tanh"), nn.SiLU(), nn.Softmax(dim=-1))

    def forward(self, ids):
        x = self.embedding(ids)
        for norm in self.norms:
            x = norm(x)
        return self.act(x)


f = Net()


def inputs():
    return (torch.tensor([[1, 2, 3, 0], [4, 5, 6, 7]]),)
