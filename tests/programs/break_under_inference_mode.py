# graphs: 2
"""A break inside of inference mode."""

import torch


def f(x):
    with torch.inference_mode():
        y = x.exp()
        print("inference", torch.is_inference_mode_enabled())
        z = y + 1
    return z, z.is_inference(), torch.is_inference_mode_enabled()


def inputs():
    return (torch.randn(3),)
