# graphs: 2
"""A function that types.FunctionType makes of the code of a module: its variables are the globals."""

import types

import torch

import minidynamo

SETTINGS = {"scale": 2.0, "__name__": "settings", "torch": torch, "graph_break": minidynamo.graph_break}


def function_of(text, mode="exec"):
    return types.FunctionType(compile(text, "settings", mode), SETTINGS)


assigns = function_of("scale = scale + 1\nlast = scale")
deletes = function_of("graph_break()\ndel last\nhas_last = 'last' in locals() or 'last' in globals()")
asks = function_of("scale * 2", "eval")


def f(x):
    assigns()
    y = x * SETTINGS["scale"] + SETTINGS["last"]
    deletes()
    return y + asks(), SETTINGS["has_last"], sorted(name for name in SETTINGS if not name.startswith("__"))


def inputs():
    SETTINGS.update(scale=2.0)
    return (torch.arange(3.0),)
