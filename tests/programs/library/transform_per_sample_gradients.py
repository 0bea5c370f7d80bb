# graphs: 1
"""vmap of grad over a functional call of a module."""

import torch


from torch.func import functional_call, grad, vmap

torch.manual_seed(0)
MODEL = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))


def f(x):
    parameters = dict(MODEL.named_parameters())

    def loss(parameters, row):
        return functional_call(MODEL, parameters, (row.unsqueeze(0),)).pow(2).mean()

    return vmap(grad(loss), in_dims=(None, 0))(parameters, x)

def inputs():
    return (torch.randn(4, 3, requires_grad=True),)
