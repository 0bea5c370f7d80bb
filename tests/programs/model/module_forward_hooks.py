# graphs: 1
"""Forward pre-hooks and hooks that change input and output, in order, with kwargs."""

import torch

LOG = []
net = torch.nn.Linear(3, 3)


def pre(module, args):
    LOG.append("pre")
    return (args[0] * 2,)


def post(module, args, kwargs, output):
    LOG.append("post")
    return output + len(args) + len(kwargs)


net.register_forward_pre_hook(pre)
net.register_forward_hook(post, with_kwargs=True)


class Outer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = net

    def forward(self, x):
        return self.inner(x).sin()


f = Outer()


def inputs():
    return (torch.randn(2, 3),)


calls = [inputs]
