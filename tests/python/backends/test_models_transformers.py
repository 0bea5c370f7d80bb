"""Transformers' models are captured as one graph each, and compute, in evaluation and training, what eager computes."""

import copy
import pathlib
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch

import minidynamo
from minidynamo import backends

pytest.importorskip("transformers", reason="the demo and test extras install transformers")

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "bench"))
import models

BACKENDS = ["eager", "aot_eager", pytest.param("inductor", marks=pytest.mark.slow)]
NAMES = sorted(models.MODELS)


def counting(backend: str) -> tuple[Callable[..., Any], list[torch.fx.GraphModule]]:
    graphs: list[torch.fx.GraphModule] = []
    compiler = backends.resolve(backend)

    def compile_graph(graph_module: torch.fx.GraphModule, example_inputs: list[torch.Tensor]) -> Callable[..., Any]:
        graphs.append(graph_module)
        return compiler(graph_module, example_inputs)

    return compile_graph, graphs


def assert_same(expected: Any, actual: Any, exact: bool) -> None:
    assert type(actual) is type(expected)
    assert list(actual) == list(expected)
    for name in expected:
        compare(expected[name], actual[name], exact)


def compare(expected: Any, actual: Any, exact: bool) -> None:
    assert type(actual) is type(expected)
    if isinstance(expected, torch.Tensor):
        tolerance = {"rtol": 0.0, "atol": 0.0} if exact else {"rtol": 1e-4, "atol": 1e-5}
        torch.testing.assert_close(actual, expected, check_stride=exact, **tolerance)
        assert actual.requires_grad == expected.requires_grad
    elif isinstance(expected, (tuple, list)):
        assert len(actual) == len(expected)
        for left, right in zip(expected, actual):
            compare(left, right, exact)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", NAMES)
def test_evaluation(name: str, backend: str) -> None:
    case = models.build(name)
    compiler, graphs = counting(backend)
    optimized = minidynamo.compile(case.module, backend=compiler, fullgraph=True)
    with torch.no_grad():
        expected = case.module(**case.inputs())
        for _ in range(2):
            assert_same(expected, optimized(**case.inputs()), exact=backend == "eager")
    assert len(graphs) == 1
    (entry,) = minidynamo.debug.cache_entries(optimized)
    assert entry.hits == 1 and len(entry.guards) > len(list(case.module.modules()))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", NAMES)
def test_training_step(name: str, backend: str) -> None:
    case = models.build(name)
    case.module.train()
    twin = copy.deepcopy(case.module)
    compiler, graphs = counting(backend)
    optimized = minidynamo.compile(case.module, backend=compiler, fullgraph=True)

    expected = twin(**case.inputs(), **case.labels())
    expected.loss.backward()
    actual = optimized(**case.inputs(), **case.labels())
    actual.loss.backward()

    assert len(graphs) == 1
    assert_same(expected, actual, exact=backend == "eager")
    for (path, theirs), ours in zip(twin.named_parameters(), case.module.parameters()):
        if theirs.grad is None:
            assert ours.grad is None, path
        else:
            tolerance = {"rtol": 0.0, "atol": 0.0} if backend == "eager" else {"rtol": 1e-3, "atol": 1e-5}
            torch.testing.assert_close(ours.grad, theirs.grad, msg=lambda text, path=path: f"{path}: {text}", **tolerance)


def test_training_converges_as_eager_does() -> None:
    """Several optimizer steps: weights change in place, and one entry serves all of them."""
    case = models.build("gpt2")
    case.module.train()
    twin = copy.deepcopy(case.module)
    compiler, graphs = counting("eager")
    losses: list[list[float]] = []
    for module in (twin, minidynamo.compile(case.module, backend=compiler, fullgraph=True)):
        optimizer = torch.optim.AdamW(module.parameters(), lr=1e-3)
        found = []
        for _ in range(4):
            optimizer.zero_grad()
            loss = module(**case.inputs(), **case.labels()).loss
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        losses.append(found)
    assert losses[0] == losses[1] and losses[0][-1] < losses[0][0]
    assert len(graphs) == 1


def test_another_sequence_length_is_another_entry() -> None:
    case = models.build("bert")
    compiler, graphs = counting("eager")
    optimized = minidynamo.compile(case.module, backend=compiler, fullgraph=True)
    with torch.no_grad():
        for length in (16, 9, 16, 9):
            inputs = {name: value[:, :length] for name, value in case.inputs().items()}
            assert_same(case.module(**inputs), optimized(**inputs), exact=True)
    assert len(graphs) == 2


@pytest.mark.parametrize("name", NAMES)
def test_result_as_tuple(name: str) -> None:
    case = models.build(name)
    optimized = minidynamo.compile(case.module, backend="eager", fullgraph=True)
    with torch.no_grad():
        compare(case.module(**case.inputs(), return_dict=False), optimized(**case.inputs(), return_dict=False), exact=True)
