"""The setting, or a call of minidynamo.skip(), is taken away again."""

import colorsys

import torch

settings_before = {"skip": ("colorsys",)}


def before(pixels):
    return pixels * colorsys.rgb_to_yiq(0.5, 0.5, 0.5)[0]


def after(pixels):
    return pixels * colorsys.rgb_to_yiq(0.5, 0.5, 0.5)[0]


def inputs():
    return (torch.ones(3),)
