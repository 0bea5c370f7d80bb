import torch


def trained(x):
    return x * 2


def before(x, function):
    function.__doc__ = "used"
    return function(x)


def after(x, function):
    function.is_used = True
    return function(x)


def inputs():
    return torch.ones(3), trained
