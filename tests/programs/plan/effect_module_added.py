# graphs: 1
"""A submodule is added by add_module, another one replaced, a third one deleted."""

import torch


def f(net, x):
    net.add_module("act", torch.nn.ReLU())
    net.norm = torch.nn.Identity()
    del net.drop
    return net.act(net.norm(net.proj(x))), [name for name, _ in net.named_children()]


def inputs():
    net = torch.nn.Module()
    net.proj = torch.nn.Linear(2, 2)
    net.norm = torch.nn.LayerNorm(2)
    net.drop = torch.nn.Dropout()
    return net, torch.randn(3, 2)
