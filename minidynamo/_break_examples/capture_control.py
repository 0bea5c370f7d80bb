"""A stance for the whole call is set around it; to keep a part out of the capture, see disabled-function."""

import torch


def before(x):
    with torch.compiler.set_stance("default"):
        y = x.sin()
    return y + 1


def after(x):
    y = x.sin()
    return y + 1


def call_after(captured, x):
    with torch.compiler.set_stance("default"):
        return captured(x)


def inputs():
    return (torch.ones(3),)
