"""options={"guard_filter_fn": ...}: which guards are offered, in torch's terms, and that those which are not wanted are not checked."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
import torch

import minidynamo
from minidynamo._capture.guard_filter import GuardFilterEntry

Filter = Callable[[Sequence[Any]], Sequence[bool]]
FACTOR = 3
BACKENDS = ["eager", "aot_eager"]


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)
        self.scale = 2
        self.options = {"shift": 1}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.linear(x) * self.scale * FACTOR + self.options["shift"]
        return y


@pytest.fixture(autouse=True)
def factor() -> Iterator[None]:
    yield
    globals()["FACTOR"] = 3


def captures(model: torch.nn.Module, choose: Filter | None, change: Callable[[], None], backend: str = "eager", rows: int = 2) -> int:
    """How often the model is captured for a call, a change, and a call of `rows` rows; the first returns what eager returns."""
    options = None if choose is None else {"guard_filter_fn": choose}
    optimized = minidynamo.compile(model, backend=backend, options=options, fullgraph=True)
    before = minidynamo.stats()["graphs"]
    x = torch.ones(2, 3, requires_grad=True)
    y = optimized(x)
    torch.testing.assert_close(y, model(x))
    y.sum().backward()
    assert x.grad is not None
    change()
    optimized(torch.ones(rows, 3, requires_grad=True))
    return minidynamo.stats()["graphs"] - before


def set_global() -> None:
    globals()["FACTOR"] = 5


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("choose", "changes", "expected"),
    [
        (None, "scale", 2),
        (None, "global", 2),
        (torch.compiler.skip_guard_on_globals_unsafe, "global", 1),
        (torch.compiler.skip_guard_on_globals_unsafe, "scale", 2),
        (torch.compiler.skip_guard_on_all_nn_modules_unsafe, "scale", 1),
        (torch.compiler.skip_guard_on_all_nn_modules_unsafe, "option", 1),
        (torch.compiler.skip_guard_on_all_nn_modules_unsafe, "global", 2),
        (torch.compiler.skip_guard_on_inbuilt_nn_modules_unsafe, "hook", 1),
        (torch.compiler.skip_guard_on_inbuilt_nn_modules_unsafe, "scale", 2),
        (torch.compiler.keep_tensor_guards_unsafe, "scale", 1),
        (torch.compiler.keep_tensor_guards_unsafe, "global", 1),
        (torch.compiler.keep_tensor_guards_unsafe, "rows", 2),
        (torch.compiler.keep_portable_guards_unsafe, "scale", 1),
        (torch.compiler.keep_portable_guards_unsafe, "rows", 2),
        (torch.compiler.skip_all_guards_unsafe, "scale", 1),
        (lambda entries: [True for _ in entries], "scale", 2),
        (lambda entries: [entry.name != "self.scale" for entry in entries], "scale", 1),
        (lambda entries: [entry.name != "self.other" for entry in entries], "scale", 2),
        (lambda entries: [not entry.name.endswith(".scale") for entry in entries], "scale", 1),
        (lambda entries: [not entry.name.endswith(".scale") for entry in entries], "global", 2),
        (lambda entries: [type(entry.value) is not int for entry in entries], "scale", 1),
    ],
)
def test_what_is_not_wanted_is_not_checked(choose: Filter | None, changes: str, expected: int, backend: str) -> None:
    model = Model()

    def change() -> None:
        if changes == "scale":
            model.scale = 7
        elif changes == "option":
            model.options["shift"] = 4
        elif changes == "global":
            set_global()
        elif changes == "hook":
            model.linear.register_forward_hook(lambda module, inputs, output: output * 2)

    assert captures(model, choose, change, backend, 5 if changes == "rows" else 2) == expected


def test_other_sizes_without_any_guard() -> None:
    assert captures(Model(), torch.compiler.skip_all_guards_unsafe, lambda: None, "eager", 5) == 1


def test_with_inductor() -> None:
    model = Model()
    assert captures(model, torch.compiler.keep_tensor_guards_unsafe, lambda: setattr(model, "scale", 7), "inductor") == 1


def test_what_is_no_tensor_never_comes_to_a_graph() -> None:
    f = minidynamo.compile(lambda x: x + 1, backend="eager", options={"guard_filter_fn": torch.compiler.skip_all_guards_unsafe})
    assert torch.equal(f(torch.ones(2)), torch.full((2,), 2.0))
    assert f(3) == 4


def test_guards_on_the_way_to_others_keep_their_types() -> None:
    def f(x: torch.Tensor, holder: Any) -> torch.Tensor:
        y: torch.Tensor = x * holder["weight"]
        return y

    optimized = minidynamo.compile(f, backend="eager", options={"guard_filter_fn": torch.compiler.skip_all_guards_unsafe})
    x = torch.ones(2)
    assert torch.equal(optimized(x, {"weight": x * 2}), x * 2)
    assert torch.equal(optimized(x, {"weight": x * 3, "other": 1}), x * 3)

    class Holder:
        def __getitem__(self, name: str) -> torch.Tensor:
            return x * 5

    assert torch.equal(optimized(x, Holder()), x * 5)


def test_each_guard_is_offered_with_torch_s_fields() -> None:
    offered: list[GuardFilterEntry] = []

    def choose(entries: Sequence[GuardFilterEntry]) -> list[bool]:
        offered.extend(entries)
        return [True] * len(entries)

    model = Model()
    captures(model, choose, lambda: None)
    by_name = {(entry.name.partition(".")[2] or entry.name, entry.guard_type): entry for entry in offered}
    scale = by_name["scale", "EQUALS_MATCH"]
    assert scale.has_value and scale.value == 2 and not scale.is_global
    assert scale.derived_guard_types == ("EQUALS_MATCH",) and scale.orig_guard.create_fn_name() == "EQUALS_MATCH"
    assert scale.orig_guard.source.is_unspecialized_nn_module() and not scale.orig_guard.source.is_unspecialized_builtin_nn_module()
    weight = by_name["linear.weight", "TENSOR_MATCH"]
    assert weight.value is model.linear.weight and weight.orig_guard.source.is_unspecialized_builtin_nn_module()
    x = by_name["x", "TENSOR_MATCH"]
    assert x.has_value and not x.orig_guard.source.is_unspecialized_nn_module()
    factor = by_name["G['FACTOR']", "EQUALS_MATCH"]
    assert factor.is_global and factor.value == 3
    assert any(not entry.has_value and entry.guard_type == "NOT_PRESENT_IN_GENERIC_DICT" for entry in offered)
    assert offered[-1].guard_type == "GLOBAL_STATE"


def test_the_state_of_torch_is_always_checked() -> None:
    optimized = minidynamo.compile(
        lambda x: x.sin() * 2, backend="eager", options={"guard_filter_fn": torch.compiler.skip_all_guards_unsafe}
    )
    x = torch.ones(2, requires_grad=True)
    assert optimized(x).requires_grad
    with torch.no_grad():
        assert not optimized(x).requires_grad


@pytest.mark.parametrize("answer", [[True], None, "no", [1] * 1000])
def test_a_wrong_answer_is_an_error(answer: Any) -> None:
    f = minidynamo.compile(lambda x: x + 1, backend="eager", options={"guard_filter_fn": lambda entries: answer})
    with pytest.raises(TypeError):
        f(torch.ones(2))


def test_an_error_of_the_filter_comes_to_the_caller() -> None:
    def choose(entries: Sequence[Any]) -> list[bool]:
        raise KeyError("chosen")

    f = minidynamo.compile(lambda x: x + 1, backend="eager", options={"guard_filter_fn": choose})
    with pytest.raises(KeyError, match="chosen"):
        f(torch.ones(2))
    with pytest.raises(TypeError, match="guard_filter_fn"):
        minidynamo.compile(lambda x: x + 1, backend="eager", options={"guard_filter_fn": 3})


def test_filters_are_told_apart() -> None:
    def g(x: torch.Tensor) -> torch.Tensor:
        return x * FACTOR

    skipping = minidynamo.compile(g, backend="eager", options={"guard_filter_fn": torch.compiler.skip_guard_on_globals_unsafe})
    checking = minidynamo.compile(g, backend="eager")
    x = torch.ones(2)
    assert torch.equal(skipping(x), x * 3) and torch.equal(checking(x), x * 3)
    set_global()
    assert torch.equal(skipping(x), x * 3) and torch.equal(checking(x), x * 5)
