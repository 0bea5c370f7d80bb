# graphs: 1
"""A generator's finally block runs when it is closed."""

import torch


def numbered(log):
    try:
        yield 1
        yield 2
    finally:
        log.append("closed")


def f(x):
    log = []
    for n in numbered(log):
        x = x + n
        break_now = n == 1
        if break_now:
            break
    generator = numbered(log)
    next(generator)
    generator.close()
    return x, log.count("closed") >= 1


def inputs():
    return (torch.randn(2),)
