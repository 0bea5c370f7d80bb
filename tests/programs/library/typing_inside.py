# graphs: 1
"""Types are built from types inside."""

import typing

import torch


def f(x):
    return typing.Optional["int"] is not None, len(typing.get_args(typing.Union[int, str])), x + 1


def inputs():
    return (torch.ones(2),)
