# graphs: 2
"""train() and eval() between calls choose the graph."""

import torch

f = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3))


def inputs():
    return (torch.randn(4, 3),)


def evaluating():
    f.eval()
    return inputs()


def training():
    f.train()
    return inputs()


calls = [inputs, evaluating, training, evaluating]
