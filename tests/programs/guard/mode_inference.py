# graphs: 1
# backends: eager
"""inference_mode: results are inference tensors."""

import torch


def f(x):
    with torch.inference_mode():
        y = x * 2 + 1
        inside = torch.is_inference_mode_enabled()
    return y, inside


def inputs():
    return (torch.randn(3),)
