# graphs: 1
"""Types that except* refuses: no exception, and exception groups."""

import torch


def work(kind):
    try:
        raise ValueError("v")
    except* kind:
        pass
    return "caught"


def f(x):
    results = []
    for kind in (int, ExceptionGroup, (ValueError, BaseExceptionGroup), (ValueError, 3)):
        try:
            results.append(work(kind))
        except TypeError as error:
            results.append((str(error), repr(error.__context__)))
    try:
        try:
            raise ValueError("v")
        except (KeyError, 3):
            pass
    except TypeError as error:
        results.append(str(error))
    return x + len(results), results


def inputs():
    return (torch.randn(2),)
