# graphs: 1
# backends: eager
"""random_ with bounds. AOTAutograd writes its parameter `from` as a keyword argument, which is no Python."""

import torch


def f(x):
    return torch.empty(4).random_(0, 5) + x.random_(3)


def inputs():
    return (torch.zeros(4),)
