# graphs: 2
"""A coroutine-like generator takes numbers by send() with breaks between them."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def scaler(x):
    factor = yield x
    while factor is not None:
        factor = yield x * factor


def f(x):
    generator = scaler(x + 1)
    start = next(generator)
    say("started")
    double = generator.send(2)
    say("doubled")
    triple = generator.send(3)
    return start + double + triple, next(generator, "finished")


def inputs():
    return (torch.randn(2),)
