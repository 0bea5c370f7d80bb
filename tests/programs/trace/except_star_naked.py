# graphs: 1
"""except* catches a plain exception as a group, or passes it on as it is; without one, else and finally run."""

import torch


def work(x, error):
    x, caught = x * 2, None
    try:
        if error is not None:
            raise error
        x = x + 1
    except* ValueError as group:
        caught = repr(group), group.exceptions[0].args
    except* KeyError:
        raise
    else:
        x = x.sin()
    finally:
        x = x.cos()
    return x, caught


def f(x):
    results = [work(x, None), work(x, ValueError("v"))]
    for error in (KeyError("k"), OSError("o")):
        try:
            work(x, error)
        except BaseException as caught:
            results.append((type(caught).__name__, str(caught), type(caught.__context__).__name__))
    return results


def inputs():
    return (torch.randn(2),)
