# graphs: 1
"""What is written is put back before the function ends: nothing has changed."""

import torch


class Switch:
    def __init__(self):
        self.on, self.stack = False, ["base"]


def f(x, switch):
    saved = switch.on
    switch.on = True
    switch.stack.append("inner")
    try:
        y = x * (3 if switch.on else 1) + len(switch.stack)
    finally:
        switch.stack.pop()
        switch.on = saved
    return y


def inputs():
    return torch.randn(2), Switch()
