"""An object whose __dict__ is not its own: the object itself, another's, or a dict that the program has as such.

What is written through one of these is read through the others, in the call and behind it; and a call in which objects share a dict
is not taken for one in which they do not.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import minidynamo

CASES: dict[str, tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]] = {}


def case(make: Callable[[], tuple[Any, ...]] = lambda: ()) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def note(function: Callable[..., Any]) -> Callable[..., Any]:
        CASES[function.__name__] = function, make
        return function

    return note


class Plain:
    def __init__(self) -> None:
        self.own: Any = 1


class Slotted:
    __slots__ = ("__dict__", "a")

    def __init__(self, names: dict[str, Any]) -> None:
        self.a = 5
        self.__dict__ = names


class Settings(dict[str, Any]):
    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self.__dict__ = self


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    minidynamo.reset()
    yield


def portrait(value: Any, seen: dict[int, int]) -> Any:
    """The contents of an object, and which objects in it are one and the same."""
    if isinstance(value, torch.Tensor):
        return value.tolist()
    if isinstance(value, (int, float, str, type(None))):
        return value
    if id(value) in seen:
        return "seen", seen[id(value)]
    seen[id(value)] = len(seen)
    parts: list[Any] = [type(value).__name__]
    if isinstance(value, dict):
        parts += [(name, portrait(item, seen)) for name, item in value.items()]
    elif isinstance(value, (list, tuple)) or hasattr(value, "__next__"):
        parts += [portrait(item, seen) for item in value]
    if isinstance(value, Slotted):
        parts.append(portrait(Slotted.__dict__["a"].__get__(value), seen))
    if hasattr(value, "__dict__"):
        parts.append(portrait(value.__dict__, seen))
    return parts


def outcome(function: Callable[..., Any], arguments: tuple[Any, ...], x: torch.Tensor) -> Any:
    seen: dict[int, int] = {}
    return portrait(function(x, *arguments), seen), portrait(arguments, seen)


@case()
def one_dict_for_two(x: torch.Tensor) -> Any:
    names = {"q": x + 1}
    a, b = Plain(), Plain()
    a.__dict__ = names
    b.__dict__ = names
    a.z = x + 2
    return a, b, names, b.z, a.__dict__ is b.__dict__


@case()
def dict_of_another(x: torch.Tensor) -> Any:
    a, b = Plain(), Plain()
    a.t = x + 1
    b.__dict__ = a.__dict__
    b.u = x + 2
    return a, b, a.u


@case()
def replaced(x: torch.Tensor) -> Any:
    a = Plain()
    a.t = x + 1
    before = a.__dict__
    a.__dict__ = {}
    a.v = 2
    return a, before


@case()
def deleted(x: torch.Tensor) -> Any:
    a = Plain()
    a.t = x + 1
    before = a.__dict__
    del a.__dict__
    a.v = 2
    return a, before


@case()
def read_again(x: torch.Tensor) -> Any:
    a, names = Plain(), {"k": x + 1}
    a.__dict__ = names
    again = a.__dict__
    again["m"] = x
    return a, names, again is names, a.m


@case()
def beside_slots(x: torch.Tensor) -> Any:
    names = {"x": x + 1, "a": 7}
    slotted = Slotted(names)
    slotted.k = 1
    return slotted, names


@case()
def of_functions(x: torch.Tensor) -> Any:
    def g() -> int:
        return 1

    def h() -> int:
        return 2

    names: dict[str, Any] = {}
    g.__dict__ = names
    h.__dict__ = names
    h.q = x + 1
    return (g.__dict__, h.__dict__, names), g.q


@case()
def set_by_object(x: torch.Tensor) -> Any:
    a, names = Plain(), {"z": x + 1}
    object.__setattr__(a, "__dict__", names)
    a.y = 1
    return a, names


@case()
def set_by_setattr(x: torch.Tensor) -> Any:
    a, names = Plain(), {"z": x + 1}
    setattr(a, "__dict__", names)  # noqa: B010
    a.y = 1
    return a, names


@case()
def set_by_descriptor(x: torch.Tensor) -> Any:
    a, names = Plain(), {"z": x + 1}
    Plain.__dict__["__dict__"].__set__(a, names)
    a.y = 1
    return a, names


@case()
def in_itself(x: torch.Tensor) -> Any:
    a = Plain()
    names: dict[str, Any] = {"z": x + 1, "a": a}
    a.__dict__ = names
    names["names"] = names
    return a, names


@case()
def of_exception(x: torch.Tensor) -> Any:
    error, names = ValueError(1), {"z": x + 1}
    error.__dict__ = names
    error.y = 2
    return error.y, names


@case()
def not_a_dict(x: torch.Tensor) -> Any:
    try:
        Plain().__dict__ = 3
    except TypeError as error:
        return x + 1, str(error)


@case()
def iterated(x: torch.Tensor) -> Any:
    a, names = Plain(), {"z": x + 1, "k": 1}
    a.__dict__ = names
    iterator = iter(names)
    next(iterator)
    return a, iterator, names


@case(lambda: (Settings(a=torch.ones(2), b=2),))
def itself_by_attribute(x: torch.Tensor, d: Settings) -> Any:
    d.n = x + 1
    d.a = x + 2
    del d.b
    return "n" in d, len(d), d.get("n"), d["a"], sorted(d), d.__dict__ is d, vars(d) is d, hasattr(d, "b")


@case(lambda: (Settings(a=torch.ones(2)),))
def itself_by_item(x: torch.Tensor, d: Settings) -> Any:
    d["n"] = x + 1
    d["a"] = x + 2
    del d["n"]
    return d.a, hasattr(d, "n"), d


def sharing() -> tuple[Plain, Plain]:
    a, b = Plain(), Plain()
    b.__dict__ = a.__dict__
    return a, b


def with_names() -> tuple[Plain, dict[str, Any]]:
    names: dict[str, Any] = {"own": 3}
    a = Plain()
    a.__dict__ = names
    return a, names


@case(sharing)
def two(x: torch.Tensor, a: Plain, b: Plain) -> Any:
    a.n = x + 1
    b.m = x + 2
    a.own = 7
    return b.n, a.m, b.own, hasattr(b, "other")


@case(sharing)
def two_read_first(x: torch.Tensor, a: Plain, b: Plain) -> Any:
    before = b.own
    a.own = x + 1
    return b.own, before, vars(b)["own"]


@case(sharing)
def two_as_dict(x: torch.Tensor, a: Plain, b: Plain) -> Any:
    a.own = x + 1
    names = vars(b)
    names["k"] = 2
    return a.k, names, b.own


@case(with_names)
def known_dict(x: torch.Tensor, a: Plain, names: dict[str, Any]) -> Any:
    a.own = x + 1
    a.n = 2
    return names["own"], "n" in names, len(names)


@case(with_names)
def known_dict_read_first(x: torch.Tensor, a: Plain, names: dict[str, Any]) -> Any:
    before = len(names)
    a.own = x + 1
    a.n = 2
    return before, names["own"], "n" in names, len(names), list(names)


@case(with_names)
def known_dict_written(x: torch.Tensor, a: Plain, names: dict[str, Any]) -> Any:
    names["own"] = x + 1
    names["n"] = x
    return a.own, a.n


@case(lambda: (Plain(),))
def own_dict_read_first(x: torch.Tensor, a: Plain) -> Any:
    names = a.__dict__
    before = len(names)
    a.own = x + 1
    a.q = 3
    return names["own"], names.get("q"), before, len(names)


@case(lambda: (Plain(),))
def own_dict_item_by_item(x: torch.Tensor, a: Plain) -> Any:
    names = a.__dict__
    a.own = x + 1
    a.q = 3
    found = names["own"], names.get("q"), "q" in names, names["".join(("o", "wn"))], "other" in names, bool(names)
    del a.own
    return found, "own" in names, names.get("own"), len(names), list(names)


@case(lambda: (Slotted({"b": 1}),))
def own_dict_beside_slots(x: torch.Tensor, a: Slotted) -> Any:
    a.a = x + 1
    a.c = 2
    names = vars(a)
    return "a" in names, names.get("a"), names["c"], len(names), a.a, a.b


@case(lambda: (Plain(),))
def own_dict_without(x: torch.Tensor, a: Plain) -> Any:
    names = vars(a)
    del a.own
    a.z = x + 1
    return "own" in names, names


@case(lambda: (Plain(),))
def made_with_dict_from_before(x: torch.Tensor, a: Plain) -> Any:
    a.own = x + 3
    a.n = 1
    b = Plain()
    b.__dict__ = a.__dict__
    b.k = x + 1
    a.j = 2
    return a.k, b.j, b, b.n


BREAKS = {"of_exception", "set_by_descriptor"}  # each for a reason of its own


@pytest.mark.parametrize("name", CASES)
def test_writes_are_seen_through_whatever_shares_the_dict(name: str) -> None:
    function, make = CASES[name]
    captured = minidynamo.compile(function, backend="eager", fullgraph=name not in BREAKS)
    for step in range(3):
        x = torch.full((2,), float(step))
        assert outcome(captured, make(), x) == outcome(function, make(), x)


def reads_both(x: torch.Tensor, a: Plain, b: Plain) -> Any:
    a.n = x + 1
    before = b.own
    a.own = x + 2
    return b.own, a.n, before


def writes_dict(x: torch.Tensor, a: Plain, names: dict[str, Any]) -> Any:
    names["own"] = x + 2
    return a.own, len(names)


def writes_object(x: torch.Tensor, a: Plain, names: dict[str, Any]) -> Any:
    a.own = x + 2
    return len(names), names["own"]


@pytest.mark.parametrize("touched", (False, True), ids=("untouched", "touched"))
@pytest.mark.parametrize("order", ((False, False, True), (True, True, False), (False, True, False, True)))
@pytest.mark.parametrize("function", (reads_both, writes_dict, writes_object))
def test_calls_that_share_a_dict_are_told_from_those_that_do_not(
    function: Callable[..., Any], order: tuple[bool, ...], touched: bool
) -> None:
    of_objects = function is reads_both

    def made(shares: bool) -> tuple[Any, ...]:
        if shares:
            arguments: tuple[Any, ...] = sharing() if of_objects else with_names()
        else:
            arguments = Plain(), Plain() if of_objects else {"own": 3}
        if touched:
            vars(arguments[0])
        return arguments

    captured = minidynamo.compile(function, backend="eager")
    x = torch.ones(1)
    for shares in order:
        assert outcome(captured, made(shares), x) == outcome(function, made(shares), x)
