# graphs: 1
"""Names and keywords that the library has from 3.13 on."""
import itertools
import math
import warnings

import torch


@warnings.deprecated("use g2")
def g(x):
    return x + 1


def f(x):
    parts = [sum(part) for part in itertools.batched(range(6), 3, strict=True)]
    try:
        list(itertools.batched(range(5), 3, strict=True))
        failed = None
    except ValueError as error:
        failed = str(error)
    text = "a-b-c".replace("-", "+", count=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = g(x)
    return y * math.fma(2.0, 3.0, 1.0), parts, failed, text


def inputs():
    return (torch.ones(3),)
