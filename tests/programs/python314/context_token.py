# graphs: 2
"""The token of a ContextVar is a context manager: what is set is taken back at the end, also by an error and behind a break."""

import contextvars

import torch

VALUE = contextvars.ContextVar("value", default=1)


def entered(x):
    with VALUE.set(2) as token:
        inside = VALUE.get(), isinstance(token, contextvars.Token), type(token) is contextvars.Token
        return x * VALUE.get(), inside


def f(x):
    found = [entered(x), VALUE.get()]
    try:
        with VALUE.set(3):
            x = x + VALUE.get()
            raise ValueError(VALUE.get())
    except ValueError as error:
        found += [error.args, VALUE.get()]
    with VALUE.set(4):
        x.sum().item()
        x = x * VALUE.get()
    try:
        with VALUE.set(5) as token:
            VALUE.reset(token)
            found.append(VALUE.get())
    except RuntimeError as error:
        found.append(str(error).split()[-5:])
    return x, found, VALUE.get()


def inputs():
    return (torch.ones(2),)
