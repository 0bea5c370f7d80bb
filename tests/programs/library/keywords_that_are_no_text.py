# graphs: 1
# whole: no
"""Keywords that are not strings, of functions, classes and instances: some C types are given the dict as it is."""

import ast
import warnings

import torch


class Called:
    def __call__(self, **keywords):
        return keywords


class Made:
    def __init__(self, **keywords):
        self.keywords = keywords


def attempt(function, keywords):
    try:
        return repr(function(**keywords))
    except TypeError as error:
        return str(error)


def f(x):
    found = [attempt(function, {1: 2}) for function in (attempt, Called(), Made, dict, int, print)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found.append(attempt(ast.Pass, {1: 2})[:10])
    return x + 1, found


def inputs():
    return (torch.ones(2),)
