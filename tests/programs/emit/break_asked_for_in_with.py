# graphs: 3
"""graph_break() between entering two managers, and inside of both."""

import torch

import minidynamo


def f(x):
    with torch.no_grad():
        y = x * 2
        minidynamo.graph_break()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            z = torch.outer(y, x) @ x
            minidynamo.graph_break()
            w = torch.outer(x, y) @ y
    return z.dtype, w.dtype, z.float() + w.float()


def inputs():
    return (torch.randn(2, requires_grad=True),)
