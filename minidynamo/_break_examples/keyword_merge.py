import torch


def scaled(x, scale=1.0, shift=0.0):
    return x * scale + shift


def before(x, options):
    return scaled(x, **options, scale=2.0)


before_raises = TypeError


def after(x, options):
    return scaled(x, **options)


def inputs():
    return torch.ones(3), {"scale": 2.0, "shift": 1.0}
