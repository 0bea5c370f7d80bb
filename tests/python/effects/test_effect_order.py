"""A function's effects happen in the order of the program, whatever part of it runs code of the program.

A cached function that the trace has run is called again when effects are replayed. If its cache runs it then, it has to see
the world as it was at that place; and its result is kept for good.
"""

import contextvars
import functools
import types
from collections.abc import Callable
from typing import Any

import pytest
import torch

import minidynamo

X = torch.arange(3.0)
VARIABLE: contextvars.ContextVar[int] = contextvars.ContextVar("VARIABLE", default=0)

# A case is made anew for every run: the function, its calls' arguments beside X, and what to look at in the end.
Case = tuple[Callable[..., Any], list[tuple[Any, ...]], Callable[[], Any]]
CASES: dict[str, Callable[[], Case]] = {}


def case(make: Callable[[], Case]) -> Callable[[], Case]:
    CASES[make.__name__] = make
    return make


@case
def write_before_call() -> Case:
    config = types.SimpleNamespace(v=1)

    @functools.lru_cache
    def cached(k: int) -> int:
        return k + config.v

    def f(x: torch.Tensor) -> Any:
        config.v = 5
        return x + cached(3)

    return f, [(), ()], lambda: (cached(3), cached.cache_info())


@case
def write_after_call() -> Case:
    config = types.SimpleNamespace(v=1)

    @functools.lru_cache
    def cached(k: int) -> int:
        return k + config.v

    def f(x: torch.Tensor) -> Any:
        y = x + cached(3)
        config.v = 5
        return y

    return f, [()], lambda: (cached(3), cached.cache_info(), config.v)


@case
def writes_around_calls() -> Case:
    config = types.SimpleNamespace(v=1)

    @functools.lru_cache
    def cached(k: int) -> int:
        return k + config.v

    def f(x: torch.Tensor) -> Any:
        config.v = 10
        a = cached(1)
        config.v = 20
        b = cached(2)
        config.v = 30
        return x + a + b

    return f, [(), ()], lambda: (cached(1), cached(2), cached(3), cached.cache_info(), config.v)


@case
def list_grows_around_calls() -> Case:
    items = [1]

    @functools.lru_cache
    def cached(k: int) -> int:
        return k + sum(items)

    def f(x: torch.Tensor) -> Any:
        items.append(10)
        a = cached(1)
        items.append(20)
        b = cached(2)
        items.insert(0, 30)
        return x + a + b

    return f, [()], lambda: (cached(1), cached(2), cached(3), items)


@case
def list_that_no_call_sees() -> Case:
    items: list[Any] = []

    @functools.lru_cache
    def cached(k: int) -> int:
        return k + 1

    def f(x: torch.Tensor) -> Any:
        items.append(x + 1)
        a = cached(1)
        items.append([a])
        return x + a

    return f, [(), ()], lambda: (cached.cache_info(), len(items), items[1], items[3])


@case
def dict_and_set_around_calls() -> Case:
    table, seen = {"a": 1}, {1}

    @functools.lru_cache
    def cached(k: int) -> int:
        return k + table["a"] + 100 * table.get("b", 0) + 1000 * len(seen)

    def f(x: torch.Tensor) -> Any:
        table["a"] = 2
        seen.add(2)
        a = cached(1)
        table["b"] = 3
        seen.add(3)
        b = cached(2)
        del table["a"]
        table["a"] = 4
        seen.discard(1)
        return x + a + b

    return f, [()], lambda: (cached(1), cached(2), cached(3), list(table.items()), sorted(seen))


@case
def attribute_is_deleted() -> Case:
    config = types.SimpleNamespace(v=1)

    @functools.lru_cache
    def cached(k: int) -> int:
        return k + getattr(config, "v", 100) + getattr(config, "w", 1000)

    def f(x: torch.Tensor) -> Any:
        del config.v
        config.w = 7
        a = cached(1)
        config.v = 2
        del config.w
        b = cached(2)
        return x + a + b

    return f, [()], lambda: (cached(1), cached(2), cached(3), vars(config))


@case
def order_of_attributes() -> Case:
    config = types.SimpleNamespace()

    @functools.lru_cache
    def cached(k: int) -> int:
        return k + config.a

    def f(x: torch.Tensor) -> Any:
        config.a = 1
        config.b = 2
        a = cached(1)
        del config.a
        config.c = 3
        config.a = 4
        config.b = 5
        return x + a + cached(2)

    return f, [()], lambda: (cached(1), cached(2), list(vars(config).items()))


@case
def dict_of_attributes_after_call() -> Case:
    config = types.SimpleNamespace(v=1)

    @functools.lru_cache
    def cached(k: int) -> int:
        return k + config.v

    def f(x: torch.Tensor) -> Any:
        config.v = 5
        a = cached(1)
        vars(config)["v"] = 6
        vars(config)["w"] = 7
        return x + a + config.v + cached(2)

    return f, [()], lambda: (cached(1), cached(2), vars(config))


@case
def context_variable() -> Case:
    @functools.lru_cache
    def cached(k: int) -> int:
        return k + VARIABLE.get()

    def f(x: torch.Tensor) -> Any:
        VARIABLE.set(5)
        a = cached(1)
        token = VARIABLE.set(6)
        b = cached(2)
        VARIABLE.reset(token)
        return x + a + b + cached(3)

    return f, [()], lambda: (cached(1), cached(2), cached(3), VARIABLE.get())


@case
def token_of_a_variable() -> Case:
    @functools.lru_cache
    def cached(k: int) -> int:
        return k + VARIABLE.get()

    def f(x: torch.Tensor) -> Any:
        VARIABLE.set(4)
        a = cached(1)
        token = VARIABLE.set(6)
        return x + a + cached(2), token.old_value

    return f, [()], lambda: (cached(1), cached(2), VARIABLE.get())


@case
def cell() -> Case:
    v = 1

    @functools.lru_cache
    def cached(k: int) -> int:
        return k + v

    def f(x: torch.Tensor) -> Any:
        nonlocal v
        v = 5
        a = cached(1)
        v = 6
        return x + a + cached(2)

    return f, [()], lambda: (cached(1), cached(2), v)


@case
def class_attribute() -> Case:
    class Config:
        v = 1

    @functools.lru_cache
    def cached(k: int) -> int:
        return k + Config.v

    def f(x: torch.Tensor) -> Any:
        Config.v = 5
        a = cached(1)
        Config.v = 6
        return x + a + cached(2)

    return f, [()], lambda: (cached(1), cached(2), Config.v)


@case
def cached_functions_call_each_other() -> Case:
    config = types.SimpleNamespace(v=1)

    @functools.lru_cache
    def inner(k: int) -> int:
        return k + config.v

    @functools.lru_cache
    def outer(k: int) -> int:
        return inner(k) + inner(k + 1)

    def f(x: torch.Tensor) -> Any:
        config.v = 5
        return x + outer(1) + inner(2) + outer(2)

    return f, [(), ()], lambda: (outer.cache_info(), inner.cache_info(), inner(1), inner(3))


@case
def object_of_the_call_changes_later() -> Case:
    config = types.SimpleNamespace(items=[0])

    @functools.lru_cache
    def cached(k: int) -> int:
        return k + sum(config.items)

    def f(x: torch.Tensor) -> Any:
        config.items = [1, 2]
        a = cached(1)
        config.items.append(3)
        return x + a + cached(2)

    return f, [()], lambda: (cached(1), cached(2), config.items)


@case
def object_of_the_call_in_a_list() -> Case:
    items: list[Any] = []

    @functools.lru_cache
    def cached(k: int) -> int:
        return k + sum(map(sum, items))

    def f(x: torch.Tensor) -> Any:
        mine = [1]
        items.append(mine)
        a = cached(1)
        mine.append(2)
        return x + a + cached(2)

    return f, [()], lambda: (cached(1), cached(2), items)


@case
def cached_function_changes_a_list() -> Case:
    items = [1]

    @functools.lru_cache
    def cached(k: int) -> int:
        items.append(k)
        return k

    def f(x: torch.Tensor) -> Any:
        items.append(7)
        return x + cached(1) + cached(1)

    return f, [(), ()], lambda: (items, cached.cache_info())


@case
def cached_function_changes_what_the_call_made() -> Case:
    config = types.SimpleNamespace(items=[0])

    @functools.lru_cache
    def cached(k: int) -> int:
        config.items.append(k)
        return k

    def f(x: torch.Tensor) -> Any:
        config.items = []
        return x + cached(1) + cached(1)

    return f, [(), ()], lambda: (config.items, cached.cache_info())


@case
def cached_function_takes_from_an_iterator() -> Case:
    iterator = iter([1, 2, 3, 4])

    @functools.lru_cache
    def cached(k: int) -> int:
        return k + next(iterator)

    def f(x: torch.Tensor) -> Any:
        return x + cached(1) + cached(1)

    return f, [(), ()], lambda: (list(iterator), cached.cache_info())


@case
def cache_that_the_call_makes() -> Case:
    ran: list[int] = []

    def f(x: torch.Tensor) -> Any:
        @functools.lru_cache
        def cached(k: int) -> int:
            ran.append(k)
            return k

        return x + cached(1) + cached(1) + cached(2)

    return f, [(), ()], lambda: ran


@case
def key_that_the_call_makes() -> Case:
    class Key:
        def __init__(self, v: int) -> None:
            self.v = v

        def __hash__(self) -> int:
            return 1

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Key) and other.v == self.v

    @functools.lru_cache
    def cached(key: Key) -> int:
        return key.v

    def f(x: torch.Tensor) -> Any:
        key = Key(1)
        a = cached(key)
        return x + a + cached(Key(1)) + cached(Key(2))

    return f, [(), ()], lambda: cached.cache_info()


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", CASES)
def test_order(name: str, backend: str) -> None:
    def run(transform: Callable[[Any], Any]) -> Any:
        def inside() -> Any:
            f, calls, look = CASES[name]()
            g = transform(f)
            return [[str(g(X, *arguments)) for arguments in calls], str(look())]

        return contextvars.copy_context().run(inside)

    assert run(minidynamo.optimize(backend)) == run(lambda f: f)


@pytest.mark.parametrize(
    "name", ["write_before_call", "writes_around_calls", "list_grows_around_calls", "list_that_no_call_sees", "order_of_attributes"]
)
def test_needs_no_break(name: str) -> None:
    f, calls, _ = CASES[name]()
    minidynamo.optimize("eager", fullgraph=True)(f)(X, *calls[0])


# --- an operator that fails when the graph runs


class State:
    def __init__(self) -> None:
        self.count = 0
        self.items: list[Any] = []
        self.table = {"a": 1}
        self.buffer = torch.zeros(3)


def effects_before_a_failure(state: State, index: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    state.count += 1
    state.items.append(2)
    state.table["b"] = 3
    try:
        y = x[index]
    except IndexError:
        state.items.append("handled")
        raise
    state.count += 10
    return y


def effects_and_writes_to_tensors(state: State, index: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    state.count += 1
    state.buffer += 1
    return x[index]


def seen(state: State) -> Any:
    return state.count, state.items, state.table, str(state.buffer)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_failing_operator_keeps_effects_before_it(backend: str) -> None:
    """The graph writes to none of its inputs."""
    bad, good = torch.tensor([5]), torch.tensor([1])
    optimized = minidynamo.optimize(backend, fullgraph=True)(effects_before_a_failure)
    left = []
    for call in (effects_before_a_failure, optimized):
        state = State()
        for index in (good, bad, good, bad):
            try:
                call(state, index, X)
            except IndexError as error:
                state.items.append(str(error))
        left.append(seen(state))
    assert left[0] == left[1]


def test_failing_operator_of_a_graph_that_writes_to_tensors() -> None:
    """The graph's writes are undone, and the frame runs uncaptured."""
    states = []
    for function in (effects_and_writes_to_tensors, minidynamo.optimize("eager", fullgraph=True)(effects_and_writes_to_tensors)):
        state = State()
        function(state, torch.tensor([1]), X)
        with pytest.raises(IndexError):
            function(state, torch.tensor([5]), X)
        states.append(seen(state))
    assert states[1] == states[0]


def test_failing_operator_behind_writes_to_more_than_is_kept() -> None:
    """docs/effects.md says what is promised then: the error comes out, and nothing but tensors has changed."""
    optimized = minidynamo.optimize("eager", fullgraph=True)(effects_and_writes_to_tensors)
    state = State()
    state.buffer = torch.zeros(2**19)
    optimized(state, torch.tensor([1]), X)
    with pytest.raises(IndexError):
        optimized(state, torch.tensor([5]), X)
    assert seen(state)[:3] == (1, [], {"a": 1}) and torch.equal(state.buffer, torch.full((2**19,), 2.0))


def test_graph_break_keeps_effects_before_a_failure() -> None:
    """The advice of docs/effects.md for where that matters."""

    def f(state: State, index: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        state.count += 1
        state.buffer += 1
        minidynamo.graph_break()
        return x[index]

    optimized = minidynamo.optimize("eager")(f)
    state = State()
    for expected in (1, 2):
        with pytest.raises(IndexError):
            optimized(state, torch.tensor([5]), X)
        assert seen(state) == (expected, [], {"a": 1}, str(torch.full((3,), float(expected))))
