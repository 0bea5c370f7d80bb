# graphs: 1
"""A forward hook on the captured module itself."""

import torch

f = torch.nn.Linear(3, 2)
f.register_forward_hook(lambda module, args, output: (output, args[0].sum()))


def inputs():
    return (torch.randn(2, 3),)
