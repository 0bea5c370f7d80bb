import dataclasses

import torch

import minidynamo


@dataclasses.dataclass
class Config:
    scale: float


@minidynamo.allow_in_graph
def scaled(x, config):
    return x * config.scale


def before(x, config):
    return scaled(x, config) + 1


@minidynamo.allow_in_graph
def scaled_by(x, scale):
    return x * scale


def after(x, config):
    return scaled_by(x, config.scale) + 1


def inputs():
    return torch.ones(3), Config(scale=2.0)
