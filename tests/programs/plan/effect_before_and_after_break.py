# graphs: 2
"""A list argument, an attribute and a global are written on both sides of a break, which shows them."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break

STAGE = "start"


class Run:
    epoch = 0


def f(x, log, run):
    global STAGE
    STAGE, run.epoch = "middle", 1
    y = x * 2
    log.append("before")
    say(STAGE, log, run.epoch)
    STAGE, run.epoch = "end", run.epoch + 1
    log.append("after")
    return y + run.epoch


def inputs():
    return torch.randn(2), [], Run()


calls = [inputs]
