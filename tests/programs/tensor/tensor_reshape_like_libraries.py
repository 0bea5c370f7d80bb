# graphs: 1
"""roll, flip, repeat, repeat_interleave with a number, tile, rot90, movedim, unflatten."""

import torch


def f(x):
    return (
        x.roll(1, 0).flip(1),
        x.repeat(2, 1).repeat_interleave(2, dim=1),
        torch.tile(x, (1, 2)),
        torch.rot90(x),
        x.unflatten(1, (2, 2)).movedim(0, -1),
        x.swapaxes(0, 1),
        torch.atleast_3d(x).shape,
    )


def inputs():
    return (torch.randn(2, 4),)
