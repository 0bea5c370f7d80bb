import torch

import minidynamo


def before(x):
    hidden = x.sin()
    minidynamo.graph_break()
    return hidden * 2


def after(x):
    hidden = x.sin()
    return hidden * 2


def inputs():
    return (torch.ones(3),)
