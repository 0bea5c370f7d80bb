# graphs: 1
"""Enumerations that are defined in the function."""

import enum

import torch


def f(x):
    class Color(enum.Enum):
        RED = 1
        GREEN = "g"
        ALSO_RED = 1

        @property
        def text(self):
            return f"{self.name}={self.value}"

    class Flags(enum.IntFlag):
        A = enum.auto()
        B = enum.auto()

    names = [color.name for color in Color]
    facts = names, Color.RED.text, Color("g").name, Color.ALSO_RED is Color.RED, (Flags.A | Flags.B).value, Color["GREEN"].value
    return x * Flags.B, facts


def inputs():
    return (torch.randn(2),)
