# graphs: 2
"""A SimpleNamespace made before a break, in a cycle, with its __dict__ used as such."""

import types

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


class Named(types.SimpleNamespace):
    def total(self):
        return self.left + self.right


def f(x):
    space = types.SimpleNamespace(scale=x * 2, other=[1, 2])
    space.own = space
    own = vars(space)
    named = Named(left=x, right=x - 1)
    say("made", len(own))
    own["late"] = 3
    return space, named.total() * space.late, named, space.own is space, own is space.__dict__


def inputs():
    return (torch.randn(2),)
