# graphs: 1
"""A global is rebound and then read by a called function; another one is deleted."""

import torch

MODE = "off"
TEMPORARY = 1


def factor():
    return 3 if MODE == "on" else 1


def f(x):
    global MODE, TEMPORARY
    MODE = "on"
    y = x * factor()
    MODE = "off"
    TEMPORARY = 2
    del TEMPORARY
    return y * factor()


def inputs():
    return (torch.randn(2),)


calls = [inputs]
