# graphs: 2
"""A logger with a handler of the program, which writes to standard output, reports the step: it hears in Python."""

import logging
import sys

import torch


class ToStandardOutput(logging.Handler):
    def emit(self, record):
        sys.stdout.write(f"{record.levelname} {self.format(record)}\n")


logger = logging.Logger("training", logging.INFO)
logger.addHandler(ToStandardOutput())


def f(x, step):
    y = torch.tanh(x)
    logger.warning("step %d has %d rows", step, x.shape[0])
    logger.debug("too detailed for %s", "level")
    return y @ y.T


def inputs():
    return torch.randn(3, 2), 7


calls = [inputs]
