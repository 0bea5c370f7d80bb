"""`minidynamo.verify`: a call made eagerly and captured from one state. Faults are planted where users could have them."""

import dataclasses
import pathlib
import random
from collections.abc import Callable
from typing import Any

import differential
import pytest
import torch

import minidynamo
from minidynamo._verify.comparison import Tolerance, unlike

numpy = pytest.importorskip("numpy")


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(0)
    random.seed(0)


class Counter:
    total = 0

    def __init__(self) -> None:
        self.calls: list[int] = []


CALLS = Counter()
HISTORY: dict[str, Any] = {}


def model() -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4), torch.nn.ReLU(), torch.nn.Dropout(0.5))


def with_effects(x: torch.Tensor, items: list[Any]) -> torch.Tensor:
    items.append(x.sum())
    CALLS.calls.append(len(items))
    Counter.total += 1
    HISTORY["last"] = random.random()
    x.add_(1)
    return x * numpy.random.rand() + torch.rand(3)


def train(module: torch.nn.Module, optimizer: torch.optim.Optimizer, x: torch.Tensor) -> torch.Tensor:
    optimizer.zero_grad()
    loss = module(x).sum()
    loss.backward()
    optimizer.step()
    return loss.detach()


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_right_call_is_the_same(backend: str) -> None:
    module = model()
    report = minidynamo.verify(module, backend=backend)(torch.randn(8, 4))
    assert report.same and report, report
    assert report.result.requires_grad and module[1].num_batches_tracked == 1  # the call is made once, as far as the program sees


def test_effects_are_made_once() -> None:
    CALLS.calls.clear()
    Counter.total = 0
    x, items = torch.zeros(3), [1]
    report = minidynamo.verify(with_effects, backend="eager")(x, items)
    assert report.same, report
    assert len(items) == 2 and CALLS.calls == [2] and Counter.total == 1 and x.tolist() == [1, 1, 1]


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.AdamW])
def test_a_training_step(kind: Callable[..., torch.optim.Optimizer]) -> None:
    module = model()
    report = minidynamo.verify(train, backend="eager")(module, kind(module.parameters(), lr=0.1), torch.randn(8, 4))
    assert report.same, report


def test_an_error_is_compared() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        raise ValueError("no")

    report = minidynamo.verify(f, backend="eager")(torch.ones(1))
    assert report.same and isinstance(report.error, ValueError)


def replaced(one: Any, other: Any) -> Callable[..., Any]:
    """A backend that takes one operator for another."""

    def backend(graph_module: torch.fx.GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
        for node in graph_module.graph.nodes:
            if node.target is one:
                node.target = other
        graph_module.recompile()
        return graph_module.forward

    return backend


def three_operators(x: torch.Tensor) -> torch.Tensor:
    y = x.exp() + 1
    z = torch.sin(y)
    return z * 2


def test_a_wrong_operator_of_a_backend() -> None:
    report = minidynamo.verify(three_operators, backend=replaced(torch.sin, torch.cos))(torch.ones(3))
    assert not report.same and report.cause == "backend" and report.graph is not None
    assert report.graph.node is not None and report.graph.node.target is torch.sin
    assert report.graph.place is not None and report.graph.place[1:] == (three_operators.__code__.co_firstlineno + 2, "three_operators")
    assert "result: 3 of 3 numbers differ" in str(report)
    assert torch.equal(report.result, three_operators(torch.ones(3)))  # eager's


def test_a_missing_guard() -> None:
    def f(x: torch.Tensor, n: int) -> torch.Tensor:
        return x * n

    captured = minidynamo.optimize("eager", dynamic=False, options={"guard_filter_fn": lambda guards: [False] * len(guards)})(f)
    assert captured(torch.ones(2), 3).tolist() == [3, 3]
    report = minidynamo.verify(captured)(torch.ones(2), 4)
    assert report.cause == "guards" and report.result.tolist() == [4, 4], report


def ends_with(items: list[int], item: int) -> None:
    items.append(item)


def test_a_backend_that_fails() -> None:
    def backend(graph_module: torch.fx.GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
        raise ValueError("no")

    report = minidynamo.verify(three_operators, backend=backend)(torch.ones(3))
    assert report.cause == "backend" and report.differences[0].path == "raised" and report.result is not None


def test_another_backend_than_the_captured_one() -> None:
    captured = minidynamo.optimize(replaced(torch.sin, torch.cos))(three_operators)
    assert not minidynamo.verify(captured)(torch.ones(3)).same
    assert minidynamo.verify(captured, backend="eager")(torch.ones(3)).same


def test_an_effect_out_of_order() -> None:
    @minidynamo.substitute_in_graph(ends_with)
    def begins_with(items: list[int], item: int) -> None:
        items.insert(0, item)

    def f(x: torch.Tensor, items: list[int]) -> torch.Tensor:
        ends_with(items, 5)
        return x + 1

    try:
        report = minidynamo.verify(f, backend="eager")(torch.ones(2), [1, 2])
    finally:
        minidynamo.remove_rule(ends_with)
    assert report.cause == "capture"
    assert [difference.path for difference in report.differences] == ["args[1][0]", "args[1][1]", "args[1][2]"]


def test_a_random_number_too_many() -> None:
    def backend(graph_module: torch.fx.GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
        def run(*inputs: Any) -> Any:
            result = graph_module.forward(*inputs)
            torch.rand(1)
            return result

        return run

    report = minidynamo.verify(lambda x: x + torch.rand(3), backend=backend)(torch.ones(3))
    assert report.cause == "backend" and [each.path for each in report.differences] == ["state of torch's random numbers"], report


def test_a_wrong_gradient() -> None:
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x * 2

        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
            return gradient * 3

    def double(x: torch.Tensor) -> torch.Tensor:
        return Double.apply(x)

    def f(x: torch.Tensor) -> torch.Tensor:
        return (torch.abs(x.cos()) + 1).sum()

    report = minidynamo.verify(f, backend=replaced(torch.abs, lambda x: double(x) / 2))(torch.ones(3, requires_grad=True))
    assert report.cause == "backend" and [each.path for each in report.differences] == ["gradient of args[0]"], report
    assert report.graph is not None and report.graph.node is not None and report.graph.node.target is torch.abs


def test_memory_that_is_not_shared() -> None:
    report = minidynamo.verify(lambda x: x.view(4), backend=replaced("view", "reshape"))(torch.ones(2, 2))
    assert report.same, report
    copying = minidynamo.verify(lambda x: torch.ravel(x), backend=replaced(torch.ravel, lambda x: x.flatten().clone()))
    report = copying(torch.ones(2, 2))
    assert report.cause == "backend" and report.differences[0].path == "memory of result", report


def test_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        print("called")
        return x + 1

    assert minidynamo.verify(f, backend="eager")(torch.ones(1)).same
    assert capsys.readouterr().out == "called\n"


def test_what_cannot_be_seen_is_said() -> None:
    report = minidynamo.verify(lambda x, it: x + 1, backend="eager")(torch.ones(1), iter([1]))
    assert report.same and report.unseen == {"args[1]": "list_iterator"}
    assert "not compared" in str(report)


@dataclasses.dataclass
class Cache:
    keys: torch.Tensor
    length: int = 0


def test_state_of_objects() -> None:
    def f(x: torch.Tensor, cache: Cache) -> torch.Tensor:
        cache.keys[cache.length] = x
        cache.length += 1
        cache.seen = True  # type: ignore[attr-defined]
        return cache.keys.sum()

    cache = Cache(torch.zeros(3))
    assert minidynamo.verify(f, backend="eager")(torch.ones(()), cache).same
    assert cache.length == 1 and cache.keys.tolist() == [1, 0, 0]


@pytest.mark.slow
def test_inductor() -> None:
    module = model()
    report = minidynamo.verify(module, backend="inductor")(torch.randn(8, 4))
    assert report.cause in ("", "random numbers"), report
    module.eval()
    assert minidynamo.verify(module, backend="inductor")(torch.randn(8, 4)).same


def test_the_setting(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("WARNING")
    with minidynamo.config.patch(verify=True):
        right = minidynamo.optimize("aot_eager")(three_operators)
        wrong = minidynamo.optimize(replaced(torch.sin, torch.cos))(three_operators)
        assert torch.equal(right(torch.ones(3)), three_operators(torch.ones(3)))
        assert not caplog.records
        wrong(torch.ones(3)), wrong(torch.zeros(3))
    (record,) = caplog.records
    assert "a compiled graph does not do what its operators do: output 0: 3 of 3 numbers differ" in record.getMessage()
    assert f"{__file__}:{three_operators.__code__.co_firstlineno + 2} in three_operators" in record.getMessage()


def test_an_iterator_that_the_call_uses_up() -> None:
    report = minidynamo.verify(lambda x, it: x + next(it), backend="eager")(torch.ones(1), iter([1, 2]))
    assert report.cause == "unseen" and report.result.tolist() == [2]


SAMPLE = [path for path in differential.PROGRAMS if path.parent.name in ("plan", "library")][::6]


@pytest.mark.parametrize("path", SAMPLE, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_programs_are_the_same_or_reach_what_cannot_be_seen(path: pathlib.Path) -> None:
    with differential._loaded(path) as program:
        report = minidynamo.verify(program.f, backend="eager")(*program.inputs())
    assert report.cause in ("", "unseen"), report


@pytest.mark.parametrize(
    ("expected", "actual", "exact", "is_close"),
    [
        ([1.0, 2.0], [1.0, 2.0], True, True),
        ([0.0], [-0.0], True, False),
        ([0.0], [-0.0], False, True),
        ([float("nan")], [float("nan")], True, True),
        ([float("inf")], [float("inf")], False, True),
        ([float("inf")], [1e30], False, False),
        ([1.0], [float("nan")], False, False),
        ([100.0, 1e-3], [100.0, 2e-3], False, True),  # a sum of terms of the other's size, which cancel
        ([1e-3, 1e-3], [2e-3, 1e-3], False, False),
        ([1.0], [1.001], False, False),
    ],
)
def test_how_far_numbers_may_be_apart(expected: list[float], actual: list[float], exact: bool, is_close: bool) -> None:
    text = unlike(torch.tensor(expected), torch.tensor(actual), Tolerance(exact=exact))
    assert (text == "") is is_close, text


@pytest.mark.parametrize("dtype", [torch.bool, torch.int64, torch.complex64, torch.bfloat16])
def test_dtypes(dtype: torch.dtype) -> None:
    one = torch.tensor([0, 1, 1]).to(dtype)
    other = torch.tensor([0, 1, 0]).to(dtype)
    assert not unlike(one, one.clone(), Tolerance(exact=True))
    assert unlike(one, other, Tolerance()).startswith("1 of 3 numbers differ, first at [2]")
