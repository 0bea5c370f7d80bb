# graphs: 1
"""Parameters that do not require gradients beside ones that do."""

import torch

f = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 3))
for parameter in f[0].parameters():
    parameter.requires_grad_(False)


def inputs():
    return (torch.randn(2, 3, requires_grad=True),)
