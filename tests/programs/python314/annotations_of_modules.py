# graphs: 2
"""What makes annotations: of a module that gets it in the call (each call has another), and of functions,
with their names."""

import types

import torch

SOURCE = """
def f() -> None:
    def nested() -> None: ...
    return nested
"""


def f(x, module):
    names = {}
    exec(SOURCE, names)
    module.__dict__["__annotate__"] = lambda format: {"a": str}
    found = [module.__annotate__(1), names["f"].__annotate__.__qualname__, names["f"]().__annotate__.__qualname__]

    def own(x: int) -> str: ...

    return x + 1, found, own.__annotate__.__qualname__, own.__annotate__.__name__, own.__annotations__


def inputs():
    return torch.ones(2), types.ModuleType("other")
