# graphs: 1
"""Text goes to a stream of Python code, which is traced, to one that the call makes, and past sys.stdout's replacement."""

import contextlib
import io

import torch


class Lines:
    def __init__(self):
        self.pieces = []

    def write(self, text):
        self.pieces.append(text)

    def flush(self):
        self.pieces.append("flushed")


def f(x, lines, stream):
    print("one", 1, file=lines, flush=True)
    own = io.StringIO()
    print("own", len(lines.pieces), sep="=", file=own)
    print("outside", file=stream)
    with contextlib.redirect_stdout(lines):
        print("redirected")
    print("to the end", own.getvalue(), None)
    return x * len(lines.pieces), lines.pieces[-2]


def inputs():
    return torch.ones(2), Lines(), io.StringIO()
