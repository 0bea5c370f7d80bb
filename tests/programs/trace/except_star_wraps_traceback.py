# graphs: 1
"""The group that except* puts an exception into, and its traceback: caught, raised again, out of a called function."""

import torch


def shown(error):
    entries, traceback = [], error.__traceback__
    while traceback:
        code = traceback.tb_frame.f_code
        entries.append((code.co_name, traceback.tb_lineno - code.co_firstlineno))
        traceback = traceback.tb_next
    return type(error).__name__, entries


def raised_again(error):
    try:
        raise error
    except* ValueError:
        raise


def f(x):
    found = []
    try:
        raise ValueError("one")
    except* (KeyError, ValueError) as group:
        found += [shown(group), shown(group.exceptions[0])]
    for error in (ValueError(1), KeyError(2), ExceptionGroup("two", [ValueError(3)])):
        try:
            raised_again(error)
        except Exception as group:
            found.append(shown(group))
    return x + 1, found


def inputs():
    return (torch.ones(2),)
