# graphs: 2
"""str(), repr(), f-strings and `args` of exceptions from outside and from behind a break."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


class Coded(ValueError):
    def __str__(self):
        return f"code {self.args[0]} of {self.where}"


def fail(n):
    say("fails")
    raise OSError(n, "no such thing", "here")


def f(x, given, coded):
    y = x * len(str(given)) + 1
    texts = [repr(given), f"{given}", f"{given!r}", str(given.args[0]), str(coded), repr(coded)]
    try:
        fail(2)
    except FileNotFoundError as error:
        y = y + error.errno
        texts.append(f"{error} {error!r} {error.filename}")
    try:
        int("x")
    except ValueError as error:
        texts.append(str(error))
    return y, texts


def inputs():
    coded = Coded(7)
    coded.where = "there"
    return torch.randn(2), KeyError("name"), coded
