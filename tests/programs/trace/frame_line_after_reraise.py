# graphs: 1
"""The frames of a traceback stand at the line that raised, also where a handler, `with` or `finally` raised it again."""

import contextlib
import sys


def lines(function):
    try:
        function()
    except ZeroDivisionError as error:
        entry = error.__traceback__.tb_next
        found = []
        while entry:
            found.append(entry.tb_frame.f_lineno - function.__code__.co_firstlineno)
            entry = entry.tb_next
        return found


def in_with():
    with contextlib.nullcontext():
        1 / 0
        sys.exc_info()


def in_named_handler():
    try:
        1 / 0
    except ZeroDivisionError as error:
        str(error) and 1 / 0
        sys.exc_info()


def in_finally():
    try:
        1 / 0
    finally:
        sys.exc_info()


def in_bare_handler():
    try:
        in_finally()
    except ZeroDivisionError:
        raise


def f(x):
    return x + 1, [lines(each) for each in (in_with, in_named_handler, in_finally, in_bare_handler)]


def inputs():
    import torch

    return (torch.ones(2),)
