# graphs: 1
"""Autocast around a transform and within one."""

import torch


def f(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        a = torch.vmap(lambda row: (x @ row).sum())(x)

    def body(row):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return x.mm(row.unsqueeze(1)).float()

    return a, torch.vmap(body)(x)

def inputs():
    return (torch.randn(4, 3, requires_grad=True),)
