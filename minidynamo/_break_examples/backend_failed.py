"""The error is the backend's, since the graph runs with another one."""

import torch

settings_before = {"suppress_errors": True}


def backend_before(graph_module, example_inputs):
    raise NotImplementedError("this backend knows no sin")


def before(x):
    return x.sin() + 1


backend_after = "eager"


def after(x):
    return x.sin() + 1


def inputs():
    return (torch.ones(3),)
