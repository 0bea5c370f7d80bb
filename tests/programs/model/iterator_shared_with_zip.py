# graphs: 0
"""An iterator that a zip and an enumerate walk over is moved by the loop's body too, across graph breaks."""

import torch


def f(x):
    it = iter([1, 2, 3, 4, 5, 6, 7])
    out = []
    for a, b in zip(it, range(2)):
        print(end="")
        out.append((a, b, next(it)))
    for a, b in enumerate(it):
        print(end="")
        out.append((a, b, next(it, None)))
        if a == 1:
            break
    return out, list(it)


def inputs():
    return (torch.ones(2),)
