# graphs: 2
"""The end of a slice is read from a tensor, in a subscript that is already being evaluated."""

import torch


def f(sequence, lengths):
    doubled = sequence * 2
    return doubled[1 : int(lengths.float().max().item()), :].sum(0)


def inputs():
    return torch.arange(12.0).reshape(4, 3), torch.tensor([1, 3, 2])
