# graphs: 1
"""Filters of warnings are changed and put back."""

import warnings

import torch


def f(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", message="never", category=UserWarning)
        y = x * 2
        inside = len(warnings.filters)
    return y + 1, inside - len(warnings.filters)


def inputs():
    return (torch.randn(2),)
