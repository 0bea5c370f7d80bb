# graphs: 1
"""close() of a generator returns what the generator returns."""
import torch


def counted(x):
    total = x * 0
    try:
        while True:
            total = total + (yield total)
    except GeneratorExit:
        return total


def f(x):
    walk = counted(x)
    next(walk)
    walk.send(x)
    walk.send(x * 2)
    last = walk.close()
    return last, walk.close(), counted(x).close()


def inputs():
    return (torch.ones(3),)
