# graphs: 1
"""A generator writes to an argument as it goes; the consumer stops it early."""

import torch


def numbered(log):
    try:
        for k in range(5):
            log.append(("give", k))
            yield k
    finally:
        log.append("closed")


def f(x, log):
    generator = numbered(log)
    for k in generator:
        log.append(("take", k))
        x = x + k
        if k == 1:
            generator.close()
    return x * len(log)


def inputs():
    return torch.randn(2), []
