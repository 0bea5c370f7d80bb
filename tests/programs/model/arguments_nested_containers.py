# graphs: 1
"""Tensors inside nested containers as argument."""

import torch


def f(batch):
    total = batch["x"] + batch["pair"][0] * batch["pair"][1]
    for item in batch["more"]:
        total = total + item["y"]
    return total


def inputs():
    return ({"x": torch.randn(2), "pair": (torch.randn(2), 3), "more": [{"y": torch.randn(2)}, {"y": torch.randn(2)}]},)
