# graphs: 1
"""cat, stack, split, chunk, unbind, hsplit, tensor_split, meshgrid, broadcast_tensors, block_diag."""

import torch


def f(x, y):
    joined = torch.cat([x, y], dim=0)
    piled = torch.stack((x, y), dim=-1)
    a, b = joined.split([1, 3])
    first, *rest = joined.unbind(0)
    rows, columns = torch.meshgrid(torch.arange(2), torch.arange(3), indexing="ij")
    wide, _ = torch.broadcast_tensors(x[0], y)
    return piled, a, b, first, rest, rows + columns, wide, torch.block_diag(x, y), joined.tensor_split(3)[2]


def inputs():
    return torch.randn(2, 3), torch.randn(2, 3)
