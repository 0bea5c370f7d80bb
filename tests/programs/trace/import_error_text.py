# graphs: 1
"""What `from module import name` raises says where the module lies, and has its name and path."""

import sys
import types

import torch

sys.modules["without_a_name"] = types.SimpleNamespace()
sys.modules["with_a_name"] = types.ModuleType("with_a_name")


def f(x):
    said = []
    try:
        from without_a_name import missing
    except ImportError as error:
        said.append((str(error), error.name, error.path))
    try:
        from with_a_name import missing
    except ImportError as error:
        said.append((str(error), error.name, error.path))
    try:
        from os import missing  # noqa: F401
    except ImportError as error:
        said.append((str(error), error.name, error.path))
    return said, x + 1


def inputs():
    return (torch.ones(2),)
