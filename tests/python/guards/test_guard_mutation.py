"""After a change of one thing that a captured program has seen, it is what it is eagerly (guard_mutation.py): a few changes of each
program, others for each. All of them: `python tests/python/oracles/guard_mutation.py`."""

import os
import pathlib
from typing import Any

import differential
import guard_mutation
import model_programs
import pytest
import torch

import minidynamo

PATHS = differential.PROGRAMS
SHARE = int(os.environ.get("MINIDYNAMO_MUTATION_SHARE", "53"))


@pytest.mark.parametrize("path", [path for path in PATHS if path.stem not in guard_mutation.EXEMPT], ids=lambda path: path.stem)
def test_changes_of_a_program(path: pathlib.Path) -> None:
    header = differential.Header.read(path)
    backend = "eager" if header.backends is None or "eager" in header.backends else header.backends[0]
    for name, different in guard_mutation.findings(path, backend, SHARE):
        assert not different, f"after {name}:\n" + "\n".join(different)


@pytest.mark.parametrize("name", ["attention", "lstm", "gpt2"])
def test_changes_of_a_model(name: str, tmp_path: pathlib.Path) -> None:
    """A few of each. All kinds: `python tests/python/oracles/guard_mutation.py --models --most 300`."""
    if name in model_programs.LAYERS:
        pytest.importorskip("transformers", reason="the demo and test extras install transformers")
    (path,) = [path for path in model_programs.write_programs(tmp_path) if path.stem == name]
    for change, different in guard_mutation.findings(path, "eager", most=8, seed=SHARE, is_model=True):
        assert not different, f"after {change}:\n" + "\n".join(different)


def test_overlapping_inputs_are_among_the_changes(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "two.py"
    path.write_text("import torch\n\ndef f(x, y):\n    return x.add_(y)\n\ndef inputs():\n    return torch.ones(2), torch.ones(2)\n")
    names = guard_mutation.Run(path).names()
    assert {"arguments[1]: is arguments[0]", "arguments[1]: a view of arguments[0]"} <= set(names)


BAKED = """# graphs: 1
import torch

class Box:
    def __init__(self):
        self.items = [1, 2]

BOX = Box()
FACTOR = 3.0

def f(x, table):
    return x * FACTOR * sum(BOX.items) + table["k"]

def inputs():
    return torch.ones(2), {"k": 1}
"""


def test_a_change_that_is_not_guarded_is_found(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The result of the first call is returned at all later ones, so that nearly every change shows."""

    def remembering(target: Any, backend: Any) -> Any:
        results: list[Any] = []

        def call(*args: Any, **kwargs: Any) -> Any:
            if not results:
                results.append(target(*args, **kwargs))
            return results[0].clone()

        return call

    path = tmp_path / "baked.py"
    path.write_text(BAKED)
    names = [name for name, different in guard_mutation.findings(path, "eager") if not different]
    assert {"arguments[1]['k']: another int", "globals['FACTOR']: another float", "globals['BOX'].items[0]: another int"} <= set(names)
    monkeypatch.setattr(minidynamo, "compile", remembering)
    found = {name for name, different in guard_mutation.findings(path, "eager") if different}
    assert {"arguments[1]['k']: another int", "globals['FACTOR']: another float", "globals['BOX'].items[0]: another int"} <= found


def test_memory_that_nobody_wrote_to_is_no_difference(tmp_path: pathlib.Path) -> None:
    """As with kernels of torch that read beyond a tensor of unusual strides (batch_norm of its running mean)."""
    path = tmp_path / "unwritten.py"
    path.write_text("import torch\n\ndef f(x):\n    return x * torch.empty(5)\n\ndef inputs():\n    return (torch.ones(5),)\n")
    run = guard_mutation.Run(path)
    for _ in range(5):
        held = [torch.rand(5) for _ in range(20)]
        del held
        assert not guard_mutation.finding(run, "mode: no_grad", "eager")


def test_depth_of_an_endless_recursion_is_compared_roughly() -> None:
    assert differential.roughly("f:1" + " > g:2" * 994) == differential.roughly("f:1" + " > g:2" * 995) == "f:1 > g:2 about 1000 times"
    assert differential.roughly("f:1" + " > g:2" * 500) != differential.roughly("f:1" + " > g:2" * 995)
    assert differential.roughly("f:1" + " > g:2" * 994 + " > g:1") == "f:1 > g:2 about 1000 times"


def test_what_loads_share_is_not_changed(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change would stay, and the runs that are compared would begin differently."""
    monkeypatch.setattr(torch.nn.Linear, "plan", {"names": ["a"]}, raising=False)
    path = tmp_path / "shared.py"
    path.write_text(
        "import torch\n\nPLAN = dict(torch.nn.Linear.plan)\nOWN = {'names': ['a']}\n\n"
        "def f(x):\n    return x + len(PLAN) + len(OWN)\n\ndef inputs():\n    return (torch.ones(5),)\n"
    )
    names = guard_mutation.Run(path).names()
    assert "globals['OWN']['names']: an element more" in names
    assert "globals['PLAN']: a key more" in names
    assert not [name for name in names if name.startswith("globals['PLAN']['names']")]
