# graphs: 1
"""A TypedDict is called: its metaclass makes a plain dict."""

from typing import TypedDict

import torch


class Movie(TypedDict):
    name: str
    year: int


def f(x):
    movie = Movie(name="n", year=3)
    return x * movie["year"], type(movie).__name__, movie


def inputs():
    return (torch.randn(2),)
