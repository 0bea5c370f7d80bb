# graphs: 1
"""rand, randn, randint, randperm, rand_like, bernoulli, normal, multinomial draw as eager does."""

import torch


def f(x):
    return (
        torch.rand(2) + torch.randn(2),
        torch.randint(0, 10, (3,)),
        torch.randperm(4),
        torch.rand_like(x) + torch.randn_like(x),
        torch.bernoulli(torch.full((4,), 0.5)),
        torch.normal(0.0, 1.0, (2,)),
        torch.multinomial(torch.ones(5), 2),
    )


def inputs():
    return (torch.randn(3),)
