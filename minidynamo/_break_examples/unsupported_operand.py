import numpy
import torch


def before(x, is_valid):
    return x * is_valid


def after(x, is_valid):
    return x * is_valid


def call_after(captured, x, is_valid):
    return captured(x, bool(is_valid))


def inputs():
    return torch.ones(3), numpy.isfinite(numpy.ones(3)).all()
