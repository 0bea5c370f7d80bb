# graphs: 1
"""A group class with its own derive and split, nested in one without; notes are kept."""

import torch


class Coded(ExceptionGroup):
    def __new__(cls, message, exceptions, code):
        made = super().__new__(cls, message, exceptions)
        made.code = code
        return made

    def derive(self, exceptions):
        return Coded(self.message, exceptions, self.code + 1)


class Splitting(ExceptionGroup):
    def split(self, condition):
        matched, rest = super().split(condition)
        return matched, None if rest is None else ExceptionGroup("rest of " + rest.message, rest.exceptions)


def f(x):
    seen = []
    for group in (Coded("c", [ValueError(1), KeyError(2)], 5), Splitting("s", [ValueError(1), Coded("n", [TypeError(2), KeyError(3)], 7)])):
        group.add_note("a note")
        try:
            try:
                raise group
            except* ValueError as caught:
                seen.append((repr(caught), getattr(caught, "code", None), caught.__notes__))
                x = x + getattr(caught, "code", 1)
            except* TypeError as caught:
                seen.append((repr(caught), [getattr(one, "code", None) for one in caught.exceptions]))
        except ExceptionGroup as rest:
            seen.append((repr(rest), getattr(rest, "code", None), getattr(rest, "__notes__", None)))
    return x.sin(), seen


def inputs():
    return (torch.randn(2),)
