import torch


def before(x):
    norm = x.norm()
    return x / norm, f"norm: {norm}"


def after(x):
    norm = x.norm()
    return x / norm, norm


def call_after(captured, x):
    scaled, norm = captured(x)
    return scaled, f"norm: {norm}"


def inputs():
    return (torch.ones(3),)
