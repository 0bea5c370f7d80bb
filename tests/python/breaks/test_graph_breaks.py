"""The parts of a program where a graph breaks: graphs, residual code, resume functions, and how they run."""

import dis
import io
import logging
import sys
import threading
import traceback
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import minidynamo


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    minidynamo.reset()
    yield
    minidynamo.reset()


class Graphs:
    """A backend that keeps the graphs and runs them as they are."""

    def __init__(self) -> None:
        self.modules: list[torch.fx.GraphModule] = []

    def __call__(self, graph_module: torch.fx.GraphModule, example_inputs: list[torch.Tensor]) -> Callable[..., Any]:
        self.modules.append(graph_module)
        return graph_module.forward

    def outputs(self, index: int) -> tuple[str, ...]:
        node = next(node for node in self.modules[index].graph.nodes if node.op == "output")
        return tuple(value.name for value in node.args[0])


def toy_example(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b


def names_used(code: types.CodeType) -> set[str]:
    return {str(instruction.argval) for instruction in dis.get_instructions(code) if instruction.opname == "LOAD_DEREF"}


def test_toy_example() -> None:
    graphs = Graphs()
    optimized = minidynamo.compile(toy_example, backend=graphs)
    torch.manual_seed(0)
    for _ in range(20):
        a, b = torch.randn(10), torch.randn(10)
        torch.testing.assert_close(optimized(a, b), toy_example(a, b))
    assert len(graphs.modules) == 3
    assert graphs.outputs(0) == ("truediv", "lt")
    (entry,) = minidynamo.debug.cache_entries(optimized)
    used = names_used(entry.code)
    resumes = {name for name in used if name.startswith("__minidynamo_resume_at_")}
    assert "__minidynamo_compiled_fn_0" in used and len(resumes) == 2
    codes = [code for code in minidynamo.debug.codes_of(optimized, resumed=True) if code is not toy_example.__code__]
    assert len(codes) == 2
    for code in codes:
        assert code.co_name == "toy_example"
        assert code.co_varnames[:2] == ("b", "x")
        assert "RETURN_VALUE" in dis.Bytecode(code).dis()


def test_modules_keep_their_names_to_themselves() -> None:
    before = set(globals())
    minidynamo.compile(toy_example, backend="eager")(torch.ones(2), torch.ones(2))
    assert set(globals()) == before


def test_a_break_six_calls_down_splits_the_program_once() -> None:
    def leaf(x: torch.Tensor) -> torch.Tensor:
        x = x + 1
        minidynamo.graph_break()
        return x * 2

    def nest(inner: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[torch.Tensor], torch.Tensor]:
        def outer(x: torch.Tensor) -> torch.Tensor:
            return inner(x.sin()).cos()

        return outer

    function = leaf
    for _ in range(5):
        function = nest(function)
    graphs = Graphs()
    x = torch.randn(3)
    torch.testing.assert_close(minidynamo.compile(function, backend=graphs)(x), function(x))
    assert len(graphs.modules) == 2


def test_a_loop_with_a_break_neither_compiles_nor_nests_once_per_iteration() -> None:
    def f(x: torch.Tensor, steps: int) -> torch.Tensor:
        for _ in range(steps):
            x = x * 0.5 + 1
            minidynamo.graph_break()
        return x

    graphs = Graphs()
    optimized = minidynamo.compile(f, backend=graphs)
    steps = 3 * sys.getrecursionlimit()
    torch.testing.assert_close(optimized(torch.ones(2), steps), f(torch.ones(2), steps))
    assert len(graphs.modules) == 2


def test_entries_share_a_resume_function() -> None:
    def f(x: torch.Tensor, by: int) -> torch.Tensor:
        y = x * by
        minidynamo.graph_break()
        return y + 1

    optimized = minidynamo.compile(f, backend="eager", dynamic=False)
    for by in (2, 3, 4):
        optimized(torch.ones(2), by)
    assert len(minidynamo.debug.cache_entries(optimized)) == 3
    assert len(minidynamo._C.resume_codes(f.__code__)) == 1


def test_the_recompile_limit_is_per_code_object() -> None:
    def f(x: torch.Tensor, values: list[int]) -> torch.Tensor:
        for value in values:
            minidynamo.graph_break()
            x = x + value
        return x

    values = list(range(40))
    with minidynamo.config.patch(recompile_limit=3):
        result = minidynamo.compile(f, backend="eager")(torch.zeros(2), values)
        torch.testing.assert_close(result, torch.full((2,), float(sum(values))))
        for code in (f.__code__, *minidynamo._C.resume_codes(f.__code__)):
            assert len(minidynamo.debug.cache_entries(code)) <= 3


def test_nothing_has_happened_when_the_compiled_function_raises() -> None:
    log: list[str] = []
    state = types.SimpleNamespace(count=0)

    def f(x: torch.Tensor) -> torch.Tensor:
        log.append("called")
        state.count += 1
        y = x + 1
        minidynamo.graph_break()
        return y

    def failing(graph_module: torch.fx.GraphModule, example_inputs: list[torch.Tensor]) -> Callable[..., Any]:
        def run(*args: torch.Tensor) -> tuple[torch.Tensor, ...]:
            raise RuntimeError("the device is gone")

        return run

    with pytest.raises(RuntimeError, match="the device is gone"):
        minidynamo.compile(f, backend=failing)(torch.ones(2))
    assert log == [] and state.count == 0


def test_an_error_of_the_program_inside_a_graph_is_caught_where_the_program_catches_it() -> None:
    def f(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        try:
            return x[index]
        except IndexError:
            return x

    optimized = minidynamo.compile(f, backend="eager")
    x = torch.arange(3.0)
    torch.testing.assert_close(optimized(x, torch.tensor([0, 2])), x[[0, 2]])
    torch.testing.assert_close(optimized(x, torch.tensor([0, 7])), x)


def test_tracebacks_show_the_frames_of_the_program() -> None:
    def inner(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        raise ValueError(str(y.shape))

    def middle(x: torch.Tensor) -> torch.Tensor:
        return inner(x * 2)

    def lines(function: Callable[[torch.Tensor], torch.Tensor]) -> list[tuple[str, int | None]]:
        with pytest.raises(ValueError) as caught:
            function(torch.ones(2))
        frames = traceback.extract_tb(caught.value.__traceback__)
        return [(frame.name, frame.lineno) for frame in frames if frame.name in ("inner", "middle")]

    assert lines(minidynamo.compile(middle, backend="eager")) == lines(middle)


def test_a_reset_in_the_middle_of_a_call() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        minidynamo.reset()
        return y * 2

    optimized = minidynamo.compile(f, backend="eager")
    for _ in range(3):
        torch.testing.assert_close(optimized(torch.ones(2)), torch.full((2,), 4.0))


def test_what_runs_at_a_break_is_captured_on_its_own() -> None:
    def key(t: torch.Tensor) -> float:
        return (t * 2).sum().item()

    def f(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
        return sorted(tensors, key=key)

    graphs = Graphs()
    tensors = [torch.full((2,), float(value)) for value in (3, 1, 2)]
    result = minidynamo.compile(f, backend=graphs)(tensors)
    assert [t[0].item() for t in result] == [1.0, 2.0, 3.0]
    assert len(graphs.modules) == 1


def test_threads_run_one_broken_function() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        for _ in range(5):
            x = x + 1
            minidynamo.graph_break()
        return x

    optimized = minidynamo.compile(f, backend="eager")
    results: list[torch.Tensor] = []
    threads = [threading.Thread(target=lambda: results.append(optimized(torch.zeros(2)))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [result.tolist() for result in results] == [[5.0, 5.0]] * 4


def test_grad_and_inference_modes_hold_across_breaks() -> None:
    def f(x: torch.Tensor) -> tuple[bool, bool, bool]:
        with torch.no_grad():
            y = x * 2
            minidynamo.graph_break()
            first = (y * 3).requires_grad
        with torch.inference_mode():
            z = x * 2
            minidynamo.graph_break()
            second = (z * 3).is_inference()
        return first, second, (x * 2).requires_grad

    x = torch.ones(2, requires_grad=True)
    for backend in ("eager", "aot_eager"):
        assert minidynamo.compile(f, backend=backend)(x) == (False, True, True)
        assert torch.is_grad_enabled() and not torch.is_inference_mode_enabled()


def test_a_file_is_written_once(tmp_path: Any) -> None:
    buffer = io.BytesIO()

    def f(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        torch.save(y, buffer)
        return y * 2

    minidynamo.compile(f, backend="eager")(torch.ones(2))
    buffer.seek(0)
    torch.testing.assert_close(torch.load(buffer), torch.full((2,), 2.0))


def test_explain_tells_graphs_breaks_and_resume_functions() -> None:
    explanation = minidynamo.explain(toy_example)(torch.ones(3), torch.ones(3))
    assert explanation.graph_count == 2 and explanation.graph_break_count == 1
    (broken,) = explanation.breaks
    assert broken.reason == "data-dependent-branch" and broken.line == toy_example.__code__.co_firstlineno + 2
    assert "if b.sum() < 0:" in str(explanation)


def test_fullgraph_raises_at_the_first_break() -> None:
    with pytest.raises(minidynamo.Unsupported) as caught:
        minidynamo.compile(toy_example, backend="eager", fullgraph=True)(torch.ones(3), torch.ones(3))
    assert caught.value.reason == "data-dependent-branch"
    assert "^" in str(caught.value) and "if b.sum() < 0:" in str(caught.value)


@pytest.mark.parametrize("limit", ["trace_instruction_limit", "trace_node_limit"])
def test_a_loop_past_a_limit_goes_on_uncaptured(limit: str, caplog: pytest.LogCaptureFixture) -> None:
    def f(x: torch.Tensor, steps: int) -> torch.Tensor:
        for _ in range(steps):
            x = x + 1
        return x

    graphs = Graphs()
    with minidynamo.config.patch(**{limit: 100}), caplog.at_level(logging.WARNING, "minidynamo"):
        captured = minidynamo.compile(f, backend=graphs)
        for _ in range(2):
            torch.testing.assert_close(captured(torch.zeros(2), 500), torch.full((2,), 500.0))
    assert len(graphs.modules) == 1
    (record,) = caplog.records
    assert "] minidynamo runs the rest of a loop in " in record.getMessage() and "x = x + 1" in record.getMessage()


def test_a_function_that_a_loop_past_a_limit_calls_is_captured() -> None:
    def step(x: torch.Tensor) -> torch.Tensor:
        return (x + 1) * 2 - x

    def f(x: torch.Tensor, steps: int) -> torch.Tensor:
        for _ in range(steps):
            x = step(x)
        return x

    graphs = Graphs()
    with minidynamo.config.patch(trace_node_limit=100):
        result = minidynamo.compile(f, backend=graphs)(torch.zeros(2), 60)
    torch.testing.assert_close(result, f(torch.zeros(2), 60))
    assert len(graphs.modules) <= 4
    assert minidynamo.debug.cache_entries(step)


def test_past_a_limit_what_is_no_loop_is_captured_in_its_turn() -> None:
    names: dict[str, Any] = {}
    exec("def f(x):\n" + "    x = x + 1\n" * 50 + "    return x", names)
    graphs = Graphs()
    with minidynamo.config.patch(trace_node_limit=20):
        result = minidynamo.compile(names["f"], backend=graphs)(torch.zeros(2))
    torch.testing.assert_close(result, torch.full((2,), 50.0))
    assert len(graphs.modules) == 3
