# graphs: 3
"""A break inside of `with`: what goes on has both values of the exit, a null among them where the method is static."""
import torch

import minidynamo


class Plain:
    def __init__(self, log):
        self.log = log

    def __enter__(self):
        self.log.append("enter")
        return 2

    def __exit__(self, kind, error, traceback):
        self.log.append(kind)
        return kind is ValueError


class Static:
    @staticmethod
    def __enter__():
        return 3

    @staticmethod
    def __exit__(*details):
        return details[0] is KeyError


def f(x):
    log = []
    with Plain(log) as two, Static() as three:
        x = x * two
        minidynamo.graph_break()
        x = x * three
        raise KeyError
    with Plain(log):
        x = x + 1
        minidynamo.graph_break()
        raise ValueError
    return x - 1, log


def inputs():
    return (torch.ones(3),)
