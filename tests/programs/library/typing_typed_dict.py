# graphs: 1
"""Calling a TypedDict class makes a plain dict."""

import typing

import torch


class Options(typing.TypedDict, total=False):
    scale: float
    name: str


def f(x):
    options = Options(scale=2.0)
    options["name"] = "n"
    more = Options({"scale": 1.0}, name="m")
    return x * options["scale"], options, type(options), more


def inputs():
    return (torch.randn(2),)
