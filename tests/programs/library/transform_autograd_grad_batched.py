# graphs: 1
"""torch.autograd.grad of a batch of vectors."""

import torch


def f(x):
    y = x.sin()
    vectors = torch.eye(12).reshape(12, 4, 3)
    return torch.autograd.grad(y, x, vectors, is_grads_batched=True, create_graph=True)

def inputs():
    return (torch.randn(4, 3, requires_grad=True),)
