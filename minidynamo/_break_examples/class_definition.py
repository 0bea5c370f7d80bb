import collections

import torch


def before(x):
    Output = collections.namedtuple("Output", ["logits", "norm"])
    return Output(x * 2, x.norm())


Output = collections.namedtuple("Output", ["logits", "norm"])


def after(x):
    return Output(x * 2, x.norm())


def inputs():
    return (torch.ones(3),)
