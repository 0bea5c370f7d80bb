import re

import torch


def before(x, name):
    found = re.match(r"layer(\d+)", name)
    return x * 2, found


def call_before(captured, x, name):
    y, found = captured(x, name)
    return y, int(found[1])


def after(x, name):
    found = re.match(r"layer(\d+)", name)
    return x * 2, int(found[1])


def inputs():
    return torch.ones(3), "layer12"
