# graphs: 1
"""torch.tensor, as_tensor and new_tensor of nested lists of numbers and tensors of one element."""

import torch


def f(x):
    pairs = torch.tensor([[x[0], 1], (2.5, x[1:2])])
    return pairs, torch.as_tensor([x[2].double(), 1]), x.new_tensor([3, x[0]], dtype=torch.float16), torch.tensor([x[0] > 0, True])


def inputs():
    return (torch.arange(4.0),)
