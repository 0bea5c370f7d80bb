# graphs: 1
"""return inside with and try: exits run in order."""

import torch


class Log:
    def __init__(self, out):
        self.out = out

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.out.append("exit")


def inner(x, out):
    with Log(out):
        try:
            return x + 1
        finally:
            out.append("finally")


def f(x):
    out = []
    return inner(x, out) * 2, out


def inputs():
    return (torch.randn(2),)
