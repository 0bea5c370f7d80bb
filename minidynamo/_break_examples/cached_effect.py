import functools

import torch

sizes_seen = []


@functools.cache
def scale_of(size):
    sizes_seen.append(size)
    return size**-0.5


def before(x):
    return x * scale_of(x.shape[-1])


@functools.cache
def scale_for(size):
    return size**-0.5


def after(x):
    return x * scale_for(x.shape[-1])


def inputs():
    return (torch.ones(4),)
