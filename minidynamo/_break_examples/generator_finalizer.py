import torch


def checked(rows):
    used = 0
    try:
        for row in rows:
            used += 1
            yield row * 2
    finally:
        if used < len(rows):
            raise ValueError("some rows were not used")


def before(x):
    return next(checked(x))


def after(x):
    first, *_ = checked(x)
    return first


def inputs():
    return (torch.ones(3, 2),)
