# graphs: 1
"""Arguments and results of vmap in dicts and tuples."""

import torch


def f(x):
    def body(parts, scale):
        return {"sum": parts["a"] + parts["b"][0], "both": (parts["a"] * scale, parts["b"][0])}

    return torch.vmap(body, in_dims=({"a": 0, "b": (1,)}, None), out_dims={"sum": 0, "both": (1, 0)})(
        {"a": x, "b": (x.t().sin(),)}, 2.5
    )

def inputs():
    return (torch.randn(4, 3, requires_grad=True),)
