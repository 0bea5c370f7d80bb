# graphs: 1
"""try/except/else/finally in every combination, in a loop."""

import torch


def f(x):
    log = []
    for i in range(3):
        try:
            if i == 1:
                raise KeyError(i)
            x = x + 1
        except KeyError:
            log.append(("except", i))
            continue
        else:
            log.append(("else", i))
        finally:
            log.append(("finally", i))
            x = x * 2
    return x, log


def inputs():
    return (torch.randn(2),)
