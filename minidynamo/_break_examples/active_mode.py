"""A transform of torch.func around the captured function sees the program's own operations; inside, it is captured."""

import torch


def before(weight, sample):
    return (sample @ weight).square().sum()


def call_before(captured, weight, samples):
    return torch.func.vmap(torch.func.grad(captured), in_dims=(None, 0))(weight, samples)


def after(weight, samples):
    def loss(weight, sample):
        return (sample @ weight).square().sum()

    return torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(weight, samples)


def inputs():
    return torch.ones(3, 2), torch.arange(12.0).reshape(4, 3)
