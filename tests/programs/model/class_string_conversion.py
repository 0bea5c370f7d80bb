# graphs: 1
"""__repr__, __str__ and __format__ of a user's class."""

import torch


class Name:
    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return f"Name({self.text!r})"

    def __format__(self, spec):
        return self.text.upper() if spec == "u" else str(self)


def f(x):
    name = Name("abc")
    text = f"{name} {name:u} {name!r}"
    return x + len(text), text


def inputs():
    return (torch.randn(2),)
