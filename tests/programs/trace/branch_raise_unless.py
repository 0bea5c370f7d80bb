# graphs: 1
"""A tensor decides only whether an error is raised: one call raises it, out of a loop and a mode of torch."""

import torch


def f(x):
    total = torch.zeros(())
    for row in x:
        with torch.no_grad():
            if torch.isnan(row).any():
                raise ValueError(f"{int(torch.isnan(row).sum())} of {len(row)}")
        total = total + row.sum()
    return total


def inputs():
    return (torch.arange(6.0).reshape(2, 3).requires_grad_(),)


def failing():
    x = torch.arange(6.0).reshape(2, 3)
    x[1, 0] = float("nan")
    return (x.requires_grad_(),)


calls = [inputs, failing, inputs]
