# graphs: 1
"""View operators: view, reshape, transpose, permute, squeeze, unsqueeze, expand, narrow, unfold, diagonal, select."""

import torch


def f(x):
    a = x.view(6, 4).transpose(0, 1)
    b = x.permute(2, 0, 1).unsqueeze(1).squeeze(1)
    c = x[:, :, 0].expand(4, 2, 3)
    d = x.narrow(1, 1, 2).select(2, 0)
    e = x.unfold(2, 2, 1)
    g = x[0].diagonal()
    return a.reshape(-1) + 1, b, c, d, e, g, x.view_as(x).flatten(1)


def inputs():
    return (torch.randn(2, 3, 4),)
