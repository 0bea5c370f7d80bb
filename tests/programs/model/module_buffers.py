# graphs: 1
"""Buffers are read and written: in place, and by assignment of a number."""

import torch


class Running(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(3))
        self.register_buffer("unused", None)
        self.register_buffer("scratch", torch.ones(3), persistent=False)

    def forward(self, x):
        with torch.no_grad():
            self.mean.mul_(0.9).add_(x.mean(0), alpha=0.1)
        assert self.unused is None
        return x - self.mean * self.scratch


f = Running()


def inputs():
    return (torch.randn(2, 3),)
