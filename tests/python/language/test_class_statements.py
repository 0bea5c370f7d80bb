"""Classes that a function defines: what of them is outside, and must be guarded or left as it was."""

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch

import minidynamo
from minidynamo import debug

X = torch.ones(2)


class Base:
    scale = 2


class Field:
    pass


class Meta(type):
    pass


class WithMeta(metaclass=Meta):
    pass


def defines(x: torch.Tensor) -> torch.Tensor:
    class Local(Base):
        field = Field()

    return x * Local.scale + Local().scale


def breaks(x: torch.Tensor) -> torch.Tensor:
    class Local(Base):
        pass

    minidynamo.graph_break()
    return x * Local.scale


def fails(x: torch.Tensor) -> torch.Tensor:
    class Local(Base):
        pass

    class Broken(Local):
        scale = x.missing  # type: ignore[attr-defined]

    return x


def defines_with_metaclass(x: torch.Tensor) -> torch.Tensor:
    class Local(WithMeta):
        pass

    return x + len(Local.__name__) + len(WithMeta.__name__)


@pytest.mark.usefixtures("no_collection")
@pytest.mark.parametrize("function", [defines, fails])
def test_the_base_forgets_the_class(function: Callable[..., Any]) -> None:
    seen = []

    def backend(graph_module: torch.fx.GraphModule, inputs: list[torch.Tensor]) -> Callable[..., Any]:
        seen.append(Base.__subclasses__())
        return graph_module

    assert Base.__subclasses__() == []
    captured = minidynamo.optimize(backend, fullgraph=True)(function)
    try:
        captured(X)
    except RuntimeError:
        assert function is fails
    else:
        assert seen == [[]]
    assert Base.__subclasses__() == []


@pytest.mark.usefixtures("no_collection")
def test_a_class_alive_at_a_break_is_made_once() -> None:
    before = len(Base.__subclasses__())
    assert torch.equal(minidynamo.optimize("eager")(breaks)(X), X * 2)
    assert [record.reason for record in debug.graph_breaks()] == ["class-definition", "explicit-break"]
    assert len(Base.__subclasses__()) == before + 1
    gc.collect()


def test_a_made_class_dies() -> None:
    references: list[weakref.ref[torch.fx.GraphModule]] = []

    def backend(graph_module: torch.fx.GraphModule, inputs: list[torch.Tensor]) -> Callable[..., Any]:
        references.append(weakref.ref(graph_module))
        return graph_module

    before = sum(isinstance(one, type) and one.__name__ == "Local" for one in gc.get_objects())
    minidynamo.optimize(backend, fullgraph=True)(defines)(X)
    gc.collect()
    assert sum(isinstance(one, type) and one.__name__ == "Local" for one in gc.get_objects()) <= before
    assert len(references) == 1


def init_subclass(cls: Any, /, **keywords: Any) -> None:
    cls.scale = 5


def set_name(self: Field, owner: type, name: str) -> None:
    owner.scale = 7  # type: ignore[attr-defined]


def rename(cls: type, name: str, bases: tuple[type, ...], members: dict[str, Any]) -> None:
    cls.__name__ = name * 3


CHANGES: list[tuple[Callable[..., torch.Tensor], type, str, Any]] = [
    (defines, Base, "scale", 3),
    (defines, Base, "__init_subclass__", classmethod(init_subclass)),
    (defines, Field, "__set_name__", set_name),
    (defines, Base, "__new__", lambda cls: object.__new__(WithScale)),
    (defines_with_metaclass, Meta, "__init__", rename),
    (defines_with_metaclass, Meta, "__call__", lambda cls, *arguments: cls),
    (defines_with_metaclass, Meta, "__prepare__", classmethod(lambda mcls, name, bases: {"__qualname__": name})),
]


class WithScale:
    scale = 13


@pytest.mark.parametrize(("function", "owner", "name", "value"), CHANGES)
def test_a_change_of_what_making_a_class_asks(function: Callable[..., torch.Tensor], owner: type, name: str, value: Any) -> None:
    captured = minidynamo.optimize("eager", fullgraph=True)(function)
    assert torch.equal(captured(X), function(X))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, value, raising=False)
        assert torch.equal(captured(X), function(X))
    assert torch.equal(captured(X), function(X))


def test_a_class_goes_by_the_name_of_its_module() -> None:
    def f(x: torch.Tensor) -> tuple[torch.Tensor, str, str]:
        by_call = type("ByCall", (Base,), {})

        class Local:
            pass

        return x + 1, by_call.__module__, Local.__module__

    assert minidynamo.optimize("eager", fullgraph=True)(f)(X)[1:] == (__name__, __name__)


def test_type_asks_no_base_for_the_classes_that_it_stands_for() -> None:
    class StandsForOthers:
        def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
            return ()

    def f(base: Any) -> str:
        try:
            type("Made", (base,), {})
        except TypeError as error:
            return str(error)
        return "made"

    compiled = minidynamo.compile(f, backend="eager")
    for base in (StandsForOthers(), list[int], int, 3, StandsForOthers()):
        assert compiled(base) == f(base)
