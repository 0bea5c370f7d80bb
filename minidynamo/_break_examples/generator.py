"""The captured module's forward is a generator function."""

import torch


class Rows(torch.nn.Module):
    def forward(self, x):
        for row in x:
            yield row.sin() + 1


before = Rows()


def call_before(captured, x):
    return list(captured(x))


def after(x):
    return [row.sin() + 1 for row in x]


def inputs():
    return (torch.ones(3, 2),)
