# graphs: 1
"""assert that holds, and one that fails and is caught."""

import torch


def f(x):
    assert x.shape[0] == 2, "two rows"
    try:
        assert x.dim() == 5, f"dim {x.dim()}"
    except AssertionError as error:
        text = str(error)
    return x + 1, text


def inputs():
    return (torch.randn(2),)
