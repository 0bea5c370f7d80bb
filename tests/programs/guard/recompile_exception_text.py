# graphs: 2
"""The text of an exception from outside is guarded by its arguments."""

import torch


def f(x, given):
    return x * len(str(given))


def with_text(text):
    return lambda: (torch.ones(2), ValueError(text))


calls = [with_text("short"), with_text("short"), with_text("a longer one"), with_text("a longer one")]
inputs = calls[0]
