# graphs: 2
"""raise from: cause and context of an exception that leaves after breaks in both handlers."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


class ConfigurationError(Exception):
    pass


def parse(text):
    try:
        return int(text)
    except ValueError as error:
        say("cannot parse")
        raise ConfigurationError(f"bad value {text!r}") from error


def f(x, text):
    y = x + 1
    say("parsing", y.numel())
    z = y * 2
    try:
        z = z * parse(text)
    except ConfigurationError:
        say("again")
        raise RuntimeError("giving up")
    return z


def inputs():
    return torch.randn(2), "seven"
