# graphs: 3
"""The else block of a loop that was not left prints."""

import torch


def f(x, limit):
    for row in x.unbind(0):
        x = x + row.sum()
        if limit < 0:
            break
    else:
        print("all rows seen")
        x = x - 1
        print("shifted")
    return x.sigmoid()


def inputs():
    return torch.randn(2, 2), 3
