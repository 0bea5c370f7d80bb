# graphs: 1
"""A logger that is off is asked and called."""

import logging

import torch

log = logging.getLogger("a.logger.of.this.program")


def f(x):
    if log.isEnabledFor(logging.DEBUG):
        x = x + 5
    log.debug("x is %s", 1)
    return x + 1


def inputs():
    return (torch.ones(2),)
