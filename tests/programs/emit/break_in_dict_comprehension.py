# graphs: 4
"""A dict comprehension over named tensors, with a break in the value."""

import torch


def f(tensors):
    norms = {name: int((t * 2).norm()) for name, t in tensors.items() if t.dim() > 0}
    return tensors["a"] / norms["a"], sorted(norms)


def inputs():
    return ({"a": torch.ones(2), "b": torch.ones(3), "c": torch.ones(2, 2)},)
