import torch


def activation(x):
    return x.relu() + 1


def before(x, function):
    function.__name__ = "main_activation"
    return function(x)


def after(x, function):
    function.label = "main_activation"
    return function(x)


def inputs():
    return torch.ones(3), activation
