"""Captures while torch.fx replaces methods of nn.Module on another thread, or on this one."""

import threading
from typing import Any

import pytest
import torch

import minidynamo


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x).relu() + self.layer.bias


class Waiting(torch.nn.Module):
    """Traced by torch.fx, it stays in the middle until it is told to go on."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(3, 3)
        self.begun, self.may_end = threading.Event(), threading.Event()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.begun.set()
        self.may_end.wait(60)
        return x + 1


def graph_targets(graphs: list[torch.fx.GraphModule]) -> list[str]:
    return [node.op for graph in graphs for node in graph.graph.nodes if node.op == "call_module"]


def start_tracing(waiting: Waiting, how: str) -> threading.Thread:
    def trace() -> None:
        if how == "symbolic_trace":
            torch.fx.symbolic_trace(waiting)
        else:
            from torch.fx.experimental.proxy_tensor import make_fx

            make_fx(waiting)(torch.ones(3))

    thread = threading.Thread(target=trace)
    thread.start()
    assert waiting.begun.wait(60)
    return thread


@pytest.mark.parametrize("how", ["symbolic_trace", "make_fx"])
@pytest.mark.parametrize("fullgraph", [False, True])
def test_a_first_call_in_the_middle(how: str, fullgraph: bool) -> None:
    minidynamo.reset()
    graphs: list[torch.fx.GraphModule] = []

    def backend(graph_module: torch.fx.GraphModule, example_inputs: list[torch.Tensor]) -> Any:
        graphs.append(graph_module)
        return graph_module.forward

    @minidynamo.compile(backend=backend, fullgraph=fullgraph)
    def function(x: torch.Tensor, weight: torch.nn.Parameter) -> torch.Tensor:
        return torch.nn.functional.linear(x, weight).relu()

    model, x = Model(), torch.randn(2, 3)
    waiting = Waiting()
    thread = start_tracing(waiting, how)
    try:
        torch.testing.assert_close(function(x, model.layer.weight), torch.nn.functional.linear(x, model.layer.weight).relu())
        assert not graphs  # it ran uncaptured
    finally:
        waiting.may_end.set()
        thread.join()
    function(x, model.layer.weight)
    assert len(graphs) == 1
    captured = minidynamo.compile(model, backend=backend, fullgraph=True)
    torch.testing.assert_close(captured(x), model(x))
    assert len(graphs) == 2


def test_a_forward_that_a_backend_kept_is_called_in_the_middle() -> None:
    """torch.fx replaces `Module.__call__` for every thread: what a backend keeps does not come by it."""
    minidynamo.reset()
    captured = minidynamo.compile(lambda x: x * 2 + 1, backend=lambda graph_module, example_inputs: graph_module.forward)
    x = torch.ones(3)
    captured(x)
    waiting = Waiting()
    thread = start_tracing(waiting, "symbolic_trace")
    try:
        torch.testing.assert_close(captured(x), x * 2 + 1)
    finally:
        waiting.may_end.set()
        thread.join()


def test_methods_that_are_replaced_in_the_middle_of_a_trace() -> None:
    """The trace is made again when torch.fx has come and gone in the middle."""
    minidynamo.reset()
    graphs: list[torch.fx.GraphModule] = []

    class Told(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + 1

    model = Model()
    stop = threading.Event()

    def trace_again_and_again() -> None:
        while not stop.is_set():
            torch.fx.symbolic_trace(Told())

    def backend(graph_module: torch.fx.GraphModule, example_inputs: list[torch.Tensor]) -> Any:
        graphs.append(graph_module)
        return graph_module.forward

    thread = threading.Thread(target=trace_again_and_again)
    thread.start()
    try:
        for _ in range(30):
            minidynamo.reset()

            def function(x: torch.Tensor) -> torch.Tensor:
                return x.sin() * model.layer.weight.sum() + model.layer.in_features

            x = torch.randn(2, 3)
            torch.testing.assert_close(minidynamo.compile(function, backend=backend)(x), function(x))
    finally:
        stop.set()
        thread.join()
    assert not graph_targets(graphs)
