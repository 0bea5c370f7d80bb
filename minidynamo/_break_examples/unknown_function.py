import os

import torch


def before(x, folder):
    return {name: x * len(name) for name in os.listdir(folder)}


def after(x, names):
    return {name: x * len(name) for name in names}


def call_after(captured, x, folder):
    return captured(x, os.listdir(folder))


def inputs():
    return torch.ones(3), os.path.dirname(__file__)
