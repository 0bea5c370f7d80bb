# graphs: 1
"""A caught exception is kept in an argument, with a note and an attribute."""

import torch


def f(x, errors):
    try:
        errors[5]
    except IndexError as error:
        error.add_note("while looking")
        error.tensor = x * 2
        kept = error.with_traceback(None)
    errors.append(kept)
    return errors[0].tensor + 1, len(errors)


def inputs():
    return torch.randn(2), []
