"""Objects of the standard library that a captured function makes for itself or finds: weak references, caches,
thread-local values, copies of tensors, warnings that are ignored, distributions."""

import copy
import functools
import threading
import warnings
import weakref
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy
import pytest
import torch

import minidynamo

Function = Callable[..., Any]
BACKENDS = ["eager", "aot_eager"]


class Node:
    def __init__(self, value: Any, parent: "Node | None" = None) -> None:
        self.value, self.children = value, []  # type: ignore[var-annotated]
        self.parent = weakref.ref(parent) if parent else None
        if parent:
            parent.children.append(self)


def tree(x: torch.Tensor) -> Any:
    root = Node(x)
    leaf = Node(x + 1, Node(x * 2, root))
    return leaf.parent().parent().value + sum(child.value for child in root.children)  # type: ignore[union-attr, misc]


def reference_leaves(x: torch.Tensor) -> Any:
    node = Node(x + 1)
    reference = weakref.ref(node)
    return reference() is node, node, reference


def reference_to_what_is_gone(x: torch.Tensor) -> Any:
    node = Node(x + 1)
    value, reference = node.value, weakref.ref(node)
    del node
    return value * 2, reference() is None, reference


def cache(x: torch.Tensor) -> Any:
    calls = []

    @functools.cache
    def fibonacci(n: int) -> int:
        calls.append(n)
        return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

    return x * fibonacci(12), len(calls), tuple(fibonacci.cache_info())


def cache_of_tensors(x: torch.Tensor) -> Any:
    @functools.cache
    def scaled(n: int) -> torch.Tensor:
        return x * n

    return scaled(2) + scaled(2), scaled(2) is scaled(2), scaled.cache_info().hits


def cleared(x: torch.Tensor) -> Any:
    @functools.lru_cache(maxsize=2)
    def twice(n: int) -> int:
        return n * 2

    first = [twice(n) for n in (1, 2, 3, 1)]
    info = tuple(twice.cache_info())
    twice.cache_clear()
    return x + 1, first, info, tuple(twice.cache_info())


def cache_leaves(x: torch.Tensor) -> Any:
    @functools.lru_cache(maxsize=2)
    def twice(n: int) -> Any:
        return [n * 2]

    given = [twice(1), twice(2), twice(3), twice(2)]
    return x + 1, twice, given


def copies(x: torch.Tensor) -> Any:
    made = x.detach() * 2
    copied = copy.deepcopy(made)
    copied.add_(1)
    nested = copy.deepcopy({"a": [made, 2], "b": (x.detach(), "s"), "c": made})
    nested["a"][0].mul_(2)
    return made, copied, nested["a"][0], nested["b"][0], nested["c"] is nested["a"][0], nested["a"][1]


def copy_of_a_leaf(x: torch.Tensor) -> Any:
    copied = copy.deepcopy(x)
    return copied * 2, copied.requires_grad, copied.is_leaf, copied.stride()


def ignored(x: torch.Tensor) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.warn("not heard", UserWarning, stacklevel=1)
        y = x * 2
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*hea", category=UserWarning)
        warnings.warn("not heard", stacklevel=2)
    return y


WHOLE: list[Function] = [tree, reference_leaves, cache, cache_of_tensors, cleared, copies, copy_of_a_leaf, ignored]


def told(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.tolist(), value.requires_grad, value.is_leaf, value.stride()
    if isinstance(value, weakref.ref):
        return "reference", value() is None
    if isinstance(value, (list, tuple)):
        return [told(item) for item in value]
    return told(value.value) if isinstance(value, Node) else value


def outcomes(function: Function) -> Any:
    seen = []
    for scale in (1.0, 1.0, 3.0):
        x = (torch.arange(6.0).reshape(2, 3) * scale).requires_grad_()
        result = function(x)
        first = result[0] if isinstance(result, tuple) else result
        if isinstance(first, torch.Tensor) and first.requires_grad:
            first.sum().backward()
        seen.append((told(result), told(x.grad) if x.grad is not None else None))
    return seen


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", WHOLE)
def test_one_graph(function: Function, backend: str) -> None:
    captured = minidynamo.compile(function, backend=backend, fullgraph=True)
    assert outcomes(captured) == outcomes(function)
    assert len(minidynamo.debug.cache_entries(captured)) == 1


def test_in_inductor() -> None:
    assert outcomes(minidynamo.compile(copies, fullgraph=True)) == outcomes(copies)


def test_what_is_gone() -> None:
    assert outcomes(minidynamo.compile(reference_to_what_is_gone, backend="eager")) == outcomes(reference_to_what_is_gone)


def test_a_cache_goes_on() -> None:
    captured = minidynamo.compile(cache_leaves, backend="eager", fullgraph=True)
    for function in (captured, captured, cache_leaves):
        _, twice, given = function(torch.ones(2))
        assert twice.__name__ == "twice" and twice.__wrapped__(4) == [8]
        assert twice.cache_parameters() == {"maxsize": 2, "typed": False}
        assert given[1] is given[3] and twice(3) is given[2] and tuple(twice.cache_info()) == (2, 3, 2, 2)
        assert twice(1) is not given[0] and twice(2) is not given[1]


def test_a_cache_across_a_break() -> None:
    def function(x: torch.Tensor) -> Any:
        @functools.lru_cache
        def twice(n: int) -> int:
            return n * 2

        y = x * twice(2)
        minidynamo.graph_break()
        return y + twice(2) + twice(4), tuple(twice.cache_info())

    assert outcomes(minidynamo.compile(function, backend="eager")) == outcomes(function)


def test_what_only_this_thread_has() -> None:
    own = threading.local()
    own.depth = 0

    def function(x: torch.Tensor) -> Any:
        own.depth += 1
        try:
            own.last = x + own.depth
            return own.last * 2, getattr(own, "missing", None)
        finally:
            own.depth -= 1

    captured = minidynamo.compile(function, backend="eager", fullgraph=True)
    for _ in range(2):
        assert torch.equal(captured(torch.ones(2))[0], torch.full((2,), 4.0))
        assert own.depth == 0 and torch.equal(own.last, torch.full((2,), 2.0))
    seen: list[Any] = []

    def in_another_thread() -> None:
        own.depth = 5
        seen.append((captured(torch.ones(2))[0].tolist(), own.depth, own.last.tolist()))

    thread = threading.Thread(target=in_another_thread)
    thread.start()
    thread.join()
    assert seen == [([14, 14], 5, [7, 7])] and own.last.tolist() == [2, 2]


def test_tensors_that_share_memory_are_copied_together() -> None:
    def function(x: torch.Tensor) -> Any:
        made = x * 2
        both = copy.deepcopy([made, made[0]])
        both[1].zero_()
        return both

    captured = minidynamo.compile(function, backend="eager")
    x = torch.ones(2, 2)
    assert told(captured(x)) == told(function(x)) and captured(x)[0][0].tolist() == [0, 0]


def test_what_lies_on_a_tensor_is_copied_with_it() -> None:
    def function(x: torch.Tensor) -> Any:
        copied = copy.deepcopy(x)
        return copied + 1, copied.__dict__, copied.grad

    captured = minidynamo.compile(function, backend="eager")
    plain, marked, with_gradient = torch.ones(2), torch.ones(2), torch.ones(2)
    marked.mark, with_gradient.grad = [1], torch.ones(2)  # type: ignore[attr-defined]
    for x in (plain, plain, marked, with_gradient, plain):
        got, wanted = captured(x), function(x)
        assert got[1] == wanted[1] and told(got[0]) == told(wanted[0]) and (got[2] is None) == (wanted[2] is None)


def test_filters_of_the_programs_own() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            warnings.warn("old", DeprecationWarning, stacklevel=1)
            warnings.warn("heard", UserWarning, stacklevel=1)
        return x * 2

    captured = minidynamo.compile(function, backend="eager")
    for called in (captured, captured, function):
        with pytest.warns(UserWarning, match="^heard$") as seen:
            called(torch.ones(2))
        assert len(seen) == 1


def sampled(loc: torch.Tensor) -> Any:
    distribution = torch.distributions.Normal(loc, torch.ones_like(loc))
    value = distribution.sample()
    return value, distribution.log_prob(value), distribution.entropy()


def actions(logits: torch.Tensor) -> Any:
    distribution = torch.distributions.Categorical(logits=logits)
    action = distribution.sample()
    return action, distribution.log_prob(action)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", [sampled, actions])
def test_distributions_are_validated(function: Function, backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.distributions.Distribution, "_validate_args", True)  # whatever others have set
    captured = minidynamo.compile(function, backend=backend, fullgraph=True)
    for scale in (1.0, 2.0):
        seen = []
        for called in (captured, function):
            torch.manual_seed(3)
            seen.append([told(item) for item in called(torch.arange(6.0).reshape(2, 3) * scale)] + torch.get_rng_state().tolist())
        assert seen[0] == seen[1]
    errors, states = [], []
    for called in (captured, function):
        torch.manual_seed(3)
        with pytest.raises(ValueError, match="invalid values") as error:
            called(torch.full((2, 3), float("nan")))
        errors.append(str(error.value))
        states.append(torch.get_rng_state().tolist())
    assert errors[0] == errors[1] and states[0] == states[1]


def test_an_error_behind_a_draw() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        drawn = torch.rand_like(x)
        if not torch.all(drawn < x):
            raise ValueError(f"{drawn.tolist()} is too much")
        return drawn * 2

    captured = minidynamo.compile(function, backend="eager", fullgraph=True)
    for bound in (2.0, 2.0, 0.0, 2.0):
        seen = []
        for called in (captured, function):
            torch.manual_seed(5)
            try:
                seen.append(called(torch.full((3,), bound)).tolist())
            except ValueError as error:
                seen.append(str(error))
            seen.append(torch.get_rng_state().tolist())
        assert seen[:2] == seen[2:]


def test_first_capture_leaves_the_filters_alone() -> None:
    holder = SimpleNamespace(count=0)

    def function(x: torch.Tensor) -> torch.Tensor:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            holder.count += 1
            return x + numpy.pi

    captured = minidynamo.compile(function, backend="eager", fullgraph=True)
    before = list(warnings.filters)
    captured(torch.ones(2))
    assert list(warnings.filters) == before and holder.count == 1
