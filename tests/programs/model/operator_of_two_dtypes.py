# graphs: 0
# whole: no
"""Products of matrices of two dtypes raise where they stand, also if nothing uses the result."""

import torch

HISTORY = []


def f(x, y, way):
    HISTORY.append(way)
    try:
        [lambda: y @ x, lambda: x @ y, lambda: y @ y.double(), lambda: torch.addmm(y, y, y.double())][way]()
    except RuntimeError:
        HISTORY.append("raised")
    else:
        HISTORY.append("not raised")
    return way


def inputs():
    return torch.ones(2), torch.ones(2, 2, dtype=torch.float64), 0


calls = [lambda way=way: (*inputs()[:2], way) for way in range(4)]
