import torch

settings_before = {"suppress_errors": True}


def backend_before(graph_module, example_inputs):
    raise NotImplementedError("sin is not supported")


def before(x):
    return x.sin() + 1


def after(x):
    return x.sin() + 1


def inputs():
    return (torch.ones(3),)
