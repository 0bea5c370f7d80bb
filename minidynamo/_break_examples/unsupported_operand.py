"""A truth value of NumPy's is no number to a tensor."""

import torch


def before(x, is_valid):
    return x * is_valid


def after(x, is_valid):
    return x * is_valid


def call_after(captured, x, is_valid):
    return captured(x, bool(is_valid))


def inputs():
    import numpy

    return torch.ones(3), numpy.isfinite(numpy.ones(3)).all()
