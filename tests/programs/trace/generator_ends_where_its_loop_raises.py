# graphs: 2
"""A generator that a loop has begun ends where the body of the loop raises: before the handler runs, and before f returns."""

import torch

HISTORY = []


def talks():
    try:
        yield 1
        yield 2
    finally:
        HISTORY.append(3)


def walk(x):
    try:
        for _ in talks():
            x.missing
    except AttributeError:
        HISTORY.append(4)
    try:
        for _ in talks():
            x.missing
    except KeyError:
        HISTORY.append(5)
    finally:
        HISTORY.append(x.shape[0])
    return x


def f(x):
    try:
        walk(x)
    except AttributeError as error:
        HISTORY.append(len(error.args))
        return error, x + len(HISTORY)


def inputs():
    return (torch.ones(2),)
