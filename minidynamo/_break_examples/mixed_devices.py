"""x is on another device than mean."""

import torch


def before(x, mean):
    return x - mean


before_raises = RuntimeError


def after(x, mean):
    return x - mean.to(x.device)


def inputs():
    return torch.ones(3, device="meta"), torch.ones(3)
