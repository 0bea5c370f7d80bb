"""Every program of tests/programs runs the same captured as eagerly, and makes as many graphs as its header says."""

import pathlib
from typing import Any

import differential
import pytest
import torch
import torch._dynamo  # which AOTAutograd imports, in the middle of a program, and which replaces functions of torch

import minidynamo
from minidynamo import backends

PATHS = differential.PROGRAMS


def cases() -> list[Any]:
    found = []
    for path in PATHS:
        for backend in differential.Header.read(path).backends or ("eager", "aot_eager"):
            found.append(pytest.param(path, backend, id=f"{path.stem}-{backend}"))
    return found


@pytest.mark.parametrize("path, backend", cases())
def test_program(path: pathlib.Path, backend: str) -> None:
    header = differential.Header.read(path)
    compiler = backends.resolve(backend)
    graphs: list[torch.fx.GraphModule] = []

    def counting(graph_module: torch.fx.GraphModule, example_inputs: list[torch.Tensor]) -> Any:
        graphs.append(graph_module)
        return compiler(graph_module, example_inputs)

    def captured(target: Any) -> Any:
        return minidynamo.compile(target, backend=counting, fullgraph=header.whole)

    exact = backend == "eager"
    expected = differential.observe(path, lambda target: target, views=exact)
    actual = differential.observe(path, captured, views=exact)
    different = differential.differences(expected, actual, exact=exact)
    assert not different, "\n".join(different)
    assert len(graphs) == header.graphs, f"{len(graphs)} graphs, and the header says {header.graphs}"


def test_there_are_programs() -> None:
    assert len(PATHS) >= 500
