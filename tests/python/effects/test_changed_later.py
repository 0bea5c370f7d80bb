"""Findings of guard_mutation.py, a smallest program each: something changes after a capture that native code looks at by itself."""

import abc
import functools
import sys
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import minidynamo


def outcome(call: Callable[..., Any], *args: Any) -> Any:
    try:
        return call(*args)[1:]
    except Exception as error:
        return type(error), str(error)


def abstract_method_implemented() -> tuple[Any, Any, Any]:
    class Shape(abc.ABC):
        @abc.abstractmethod
        def area(self) -> int: ...

    def f(x: torch.Tensor) -> Any:
        class Half(Shape):
            pass

        return x + 1, sorted(Half.__abstractmethods__)

    def change() -> None:
        Shape.area = lambda self: 1  # type: ignore[method-assign]

    return f, (), change


def mark_of_abstract_method_removed() -> tuple[Any, Any, Any]:
    class Shape(abc.ABC):
        @abc.abstractmethod
        def area(self) -> int: ...

    def f(x: torch.Tensor) -> Any:
        class Half(Shape):
            pass

        return x + 1, len(Half.__abstractmethods__)

    return f, (), lambda: delattr(Shape.area, "__isabstractmethod__")


def registry_removed() -> tuple[Any, Any, Any]:
    class Shape(abc.ABC):  # noqa: B024
        pass

    class Square(Shape):
        pass

    def f(x: torch.Tensor, shape: Any) -> Any:
        return x + 1, isinstance(shape, Shape), issubclass(int, Shape)

    return f, (Square(),), lambda: setattr(Shape, "_abc_impl", None)


def text_of_exception() -> tuple[Any, Any, Any]:
    class Coded(ValueError):
        def __str__(self) -> str:
            return "code"

    def f(x: torch.Tensor, error: Any) -> Any:
        return x + 1, f"{error}", str(error)

    return f, (Coded(1),), lambda: setattr(Coded.__str__, "__code__", (lambda self: None).__code__)


def lock_of_cached_property() -> tuple[Any, Any, Any]:
    class Model:
        @functools.cached_property
        def size(self) -> int:
            return 3

    def f(x: torch.Tensor) -> Any:
        return x + 1, Model().size

    return f, (), lambda: vars(vars(Model)["size"]).pop("lock")  # CPython 3.12 has none


class Holder:
    pass


def referent_that_is_another_one() -> tuple[Any, Any, Any]:
    first, second = Holder(), Holder()

    def f(x: torch.Tensor, link: Any, holders: list[Any]) -> Any:
        return x + 1, link == weakref.ref(holders[0])

    holders = [second]
    return f, (weakref.ref(first), holders), lambda: holders.__setitem__(0, first)


def comparison_of_referents() -> tuple[Any, Any, Any]:
    class Compared:
        pass

    first, second = Compared(), Compared()

    def f(x: torch.Tensor, link: Any, alive: Any) -> Any:
        return x + 1, link == weakref.ref(second)

    def change() -> None:
        Compared.__eq__ = lambda self, other: True  # type: ignore[assignment,method-assign]

    return f, (weakref.ref(first), first), change


KINDS = [
    abstract_method_implemented,
    mark_of_abstract_method_removed,
    registry_removed,
    text_of_exception,
    *([lock_of_cached_property] if sys.version_info < (3, 12) else []),
    referent_that_is_another_one,
    comparison_of_referents,
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_changed_later(kind: Callable[[], tuple[Any, Any, Any]]) -> None:
    f, args, change = kind()
    optimized = minidynamo.compile(f, backend="eager")
    x = torch.ones(1)
    before = outcome(f, x, *args)
    for _ in range(2):
        assert outcome(optimized, x, *args) == before
    change()
    after = outcome(f, x, *args)
    assert after != before
    assert outcome(optimized, x, *args) == after


def past_its_size(x: torch.Tensor, items: Iterator[object]) -> tuple[object, ...]:
    taken = []
    try:
        for item in items:
            taken.append(item)
    except RuntimeError as error:
        return x + 2, taken, str(error)
    return x + 1, taken


@pytest.mark.parametrize("wrapped", [iter, enumerate])
@pytest.mark.parametrize("first", [False, True])
def test_keys_exchanged_behind_an_iterator(wrapped: Callable[[Iterator[object]], Iterator[object]], first: bool) -> None:
    """The dict is as large as when the iterator was made, but has another key: a step more than there were is an error."""

    def items(exchanged: bool) -> Iterator[object]:
        table = {"a": 1, "b": 2}
        iterator = iter(table.items())
        next(iterator)
        if exchanged:
            del table["a"]
            table["c"] = 3
        return wrapped(iterator)

    captured = minidynamo.optimize(backend="eager")(past_its_size)
    for exchanged in (first, not first, first, not first):
        assert repr(captured(torch.ones(1), items(exchanged))) == repr(past_its_size(torch.ones(1), items(exchanged)))
