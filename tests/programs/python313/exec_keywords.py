# graphs: 1
"""exec() and eval() take their namespaces as keywords."""
import torch


def f(x):
    names = {"x": x}
    exec("y = x * 2", globals=names)
    return eval("x + y", globals=names, locals={"y": 3}), names["y"]


def inputs():
    return (torch.ones(3),)
