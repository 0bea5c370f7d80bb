# graphs: 1
"""A function over the rows of several tensors, that gives several."""

import torch
from torch._higher_order_ops.map import map as map_rows


def f(x):
    return map_rows(lambda rows: (rows["a"] + rows["b"], rows["a"].sum()), {"a": x, "b": x * 2})


def inputs():
    torch.manual_seed(0)
    return (torch.randn(3, 4, requires_grad=True),)
