# graphs: 1
"""Loss modules with reductions and weights."""

import torch
from torch import nn

losses = nn.ModuleList([nn.CrossEntropyLoss(label_smoothing=0.1), nn.NLLLoss(reduction="sum")])
mse, bce = nn.MSELoss(), nn.BCEWithLogitsLoss()


def f(logits, target):
    total = losses[0](logits, target) + losses[1](logits.log_softmax(-1), target)
    one_hot = nn.functional.one_hot(target, 4).to(logits.dtype)
    return total + mse(logits, one_hot) + bce(logits, one_hot)


def inputs():
    return torch.randn(3, 4, requires_grad=True), torch.tensor([0, 3, 1])
