# graphs: 3
"""A loop over zip of two lists of tensors."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(lefts, rights):
    products = []
    for left, right in zip(lefts, rights):
        products.append(left @ right)
        say(len(products), "products")
    return torch.stack(products)


def inputs():
    return [torch.randn(2, 3) for _ in range(2)], [torch.randn(3, 2) for _ in range(2)]
