# graphs: 2
"""A getter of C warns by the filters of now, which the program has just changed."""

import warnings


def f(x):
    x = x + 1
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        f.__code__.co_lnotab
        (lambda: None).__code__.co_lnotab
    with warnings.catch_warnings(record=True) as ignored:
        warnings.simplefilter("ignore")
        (lambda: None).__code__.co_lnotab
    return x * 2, [str(each.category) for each in caught], len(ignored)


def inputs():
    import torch

    return (torch.ones(2),)
