# graphs: 1
"""A class statement gives its class __static_attributes__ and __firstlineno__."""
import torch


def f(x):
    class Local:
        def __init__(self, value):
            self.value = value
            self.other = 2

    made = Local(x * 2)
    return made.value, sorted(Local.__static_attributes__), Local.__firstlineno__


def inputs():
    return (torch.ones(3),)
