# graphs: 1
"""eval() and train() inside switch all submodules; requires_grad_ freezes one of them."""

import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(2, 2)
        self.drop = torch.nn.Dropout(0.5)
        self.head = torch.nn.Linear(2, 1)


def f(net, x):
    net.eval()
    y = net.drop(net.first(x))
    net.head.train()
    return net.head(y), net.drop.training, net.training


def inputs():
    return Net(), torch.randn(2, 2)
