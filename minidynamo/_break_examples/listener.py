import logging

import torch

logger = logging.getLogger(__name__)


class CountsMessages(logging.Handler):
    count = 0

    def emit(self, record):
        self.count += 1


logger.addHandler(CountsMessages())
logger.setLevel(logging.INFO)


def before(x):
    y = x.sin()
    logger.info("shape %s", tuple(y.shape))
    return y + 1


def after(x):
    return x.sin() + 1


def call_after(captured, x):
    y = captured(x)
    logger.info("shape %s", tuple(y.shape))
    return y


def inputs():
    return (torch.ones(3),)
