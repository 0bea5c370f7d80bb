# graphs: 1
"""F.dropout with training given, alpha and feature dropout."""

import torch
import torch.nn.functional as F


def f(x):
    return F.dropout(x, 0.5, training=True), F.dropout(x, 0.5, training=False), F.alpha_dropout(x, 0.2, True)


def inputs():
    return (torch.ones(4, 8, requires_grad=True),)
