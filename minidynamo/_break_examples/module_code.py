import math

import torch


def before(x):
    settings = {}
    exec("from math import *\nscale = sqrt(4)", settings)
    return x * settings["scale"]


def scale():
    return math.sqrt(4)


def after(x):
    return x * scale()


def inputs():
    return (torch.ones(3),)
