# graphs: 2
"""Caches that were filled when the state that their functions read was another: what they hold counts, and which object it is."""

import functools

import torch


class Config:
    scale = 1


@functools.lru_cache(maxsize=None)
def number(k):
    return k * Config.scale


@functools.lru_cache(typed=True)
def table(k, *, offset=0):
    return [k * Config.scale, offset]


@functools.lru_cache
def steps(n, dtype, device):
    return torch.arange(n, dtype=dtype, device=device)


number(3)
table(2, offset=1)
CPU = torch.device("cpu")
STEPS = steps(2, torch.float32, CPU)
Config.scale = 100


def f(x):
    found = table(2, offset=1)
    found.append(number(4))
    return x * number(3) + steps(2, torch.float32, CPU) * number(4), found, table(2, offset=1) is found


def inputs():
    return (torch.ones(2),)


calls = [inputs, inputs]
