"""The names of a module are reached as globals of its functions, as attributes of the module and as a dict: always the same ones."""

import itertools
import types
from typing import Any

import pytest
import torch

import minidynamo

SOURCE = """
A = 1

def get():
    return A

def put(value):
    global A
    A = value

def drop():
    global A
    del A
"""

STEPS = {
    "function reads": "seen.append(m.get())",
    "function writes": "m.put(len(seen) + 20)",
    "attribute read": "seen.append(m.A)",
    "attribute written": "m.A = len(seen) + 30",
    "item read": "seen.append(names['A'])",
    "item written": "names['A'] = len(seen) + 40",
    "items walked": "seen += [names[name] for name in names if name == 'A']",
    "vars read": "seen.append(vars(m)['A'])",
    "vars written": "vars(m)['A'] = len(seen) + 50",
    "updated": "names.update(A=len(seen) + 60)",
}


def make_module() -> types.ModuleType:
    module = types.ModuleType("module")
    exec(SOURCE, module.__dict__)
    return module


@pytest.mark.parametrize(("first", "second"), list(itertools.product(STEPS, repeat=2)))
def test_two_ways_to_one_name(first: str, second: str) -> None:
    body = "\n    ".join([STEPS[first], STEPS[second], STEPS["item read"], STEPS["function reads"]])
    results: list[Any] = []
    for wrap in (lambda target: target, lambda target: minidynamo.compile(target, backend="eager")):
        module = make_module()
        scope: dict[str, Any] = {"m": module}
        exec(f"def f(x, names):\n    seen = []\n    {body}\n    return x + 1, seen", scope)
        target = wrap(scope["f"])
        found = []
        for value in (1, 1, 2):
            module.A = value  # type: ignore[attr-defined]
            found.append((target(torch.zeros(1), module.__dict__)[1], module.A))
        results.append(found)
    assert results[0] == results[1]


def test_names_that_come_as_a_dict_after_a_graph_break() -> None:
    scope: dict[str, Any] = {"A": 2}
    exec("def f(x):\n    y = x + A\n    names = globals()\n    return y * names['A']", scope)
    optimized = minidynamo.compile(scope["f"], backend="eager")
    for value in (2, 2, 3):
        scope["A"] = value
        assert optimized(torch.ones(1)).item() == (1 + value) * value


def test_builtins_and_imported_modules_as_dicts() -> None:
    import builtins
    import sys

    def f(x: torch.Tensor, names: dict[str, Any], modules: dict[str, Any]) -> tuple[torch.Tensor, Any, Any]:
        import json

        return x + len("ab"), names.get("added_for_a_test"), modules.get("added_for_a_test") or json.__name__

    optimized = minidynamo.compile(f, backend="eager")
    try:
        for value in ("first", "first", "second"):
            builtins.added_for_a_test = value  # type: ignore[attr-defined]
            sys.modules["added_for_a_test"] = value  # type: ignore[assignment]
            assert optimized(torch.ones(1), vars(builtins), sys.modules)[1:] == (value, value)
    finally:
        del builtins.added_for_a_test, sys.modules["added_for_a_test"]  # type: ignore[attr-defined]
