"""minidynamo's own tests break functions at each of their instructions with this setting."""

import torch

settings_before = {"force_break_at": 6}


def before(x):
    return x.sin() + 1


def after(x):
    return x.sin() + 1


def inputs():
    return (torch.ones(3),)
