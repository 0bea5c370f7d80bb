# graphs: 2
"""raise from: cause and context of an exception that leaves after breaks in both handlers."""

import torch


class ConfigurationError(Exception):
    pass


def parse(text):
    try:
        return int(text)
    except ValueError as error:
        print("cannot parse")
        raise ConfigurationError(f"bad value {text!r}") from error


def f(x, text):
    y = x + 1
    print("parsing", y.numel())
    z = y * 2
    try:
        z = z * parse(text)
    except ConfigurationError:
        print("again")
        raise RuntimeError("giving up")
    return z


def inputs():
    return torch.randn(2), "seven"
