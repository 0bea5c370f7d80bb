"""An object that loses its last place, whatever that was, ends there: who is told of it is told then, and who asks finds it gone."""

import collections
import functools
import gc
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import minidynamo

LOG: list[str] = []


class Thing:
    def method(self) -> int:
        return 1


class LoudThing(Thing):
    def __del__(self) -> None:
        LOG.append("del")


class Holder:
    pass


class SlotHolder:
    __slots__ = ("a",)


_partial = functools.partial


def _ident(x: Any) -> Any:
    return x




# Statements that make a Thing to which `o` alone leads, the expression that finds it there, and statements that let go of it.
PLACES = {
    "local": ("o = Thing()", "o", ["o = None", "del o", "o = 1", "o, p = 1, 2"]),
    "cell": ("o = Thing()\ndef inner(): return o", "o", ["o = None", "del o", "o = 1"]),
    "cell_of_a_call": ("o = Thing()\ndef inner():\n    nonlocal o\n    o = None", "o", ["inner()"]),
    "global": ("global A_NAME\nA_NAME = Thing()", "A_NAME", ["A_NAME = None", "del A_NAME", "globals().pop('A_NAME')"]),
    "list": (
        "o = [Thing(), 1]",
        "o[0]",
        ["o[0] = None", "del o[0]", "o.clear()", "o.pop(0)", "o[:1] = []", "del o[:1]", "o[:] = [1, 2]", "o.__init__()", "o *= 0"]
        + ["o.remove(o[0])", "o.reverse(); o.pop()", "o = None", "del o"],
    ),
    "dict": (
        "o = {'a': Thing(), 'b': 1}",
        "o['a']",
        ["o['a'] = None", "del o['a']", "o.clear()", "o.pop('a')", "o.update(a=1)", "o |= {'a': 1}", "o.popitem(); o.popitem()"]
        + ["o = None", "del o"],
    ),
    "set": (
        "o = {Thing()}",
        "list(o)[0]",
        ["o.clear()", "o.pop()", "o -= set(o)", "o &= set()", "o.intersection_update([])", "o.remove(list(o)[0])", "o = None"],
    ),
    "deque": (
        "o = collections.deque([Thing(), 1], maxlen=2)",
        "o[0]",
        ["o.clear()", "o.popleft()", "o.append(3)", "o[0] = 1", "del o[0]", "o.extend([1, 2])", "o = None"],
    ),
    "ordered_dict": (
        "o = collections.OrderedDict(a=Thing(), b=1)",
        "o['a']",
        ["o['a'] = None", "del o['a']", "o.clear()", "o.pop('a')", "o.popitem(False)", "o = None"],
    ),
    "default_dict": ("o = collections.defaultdict(list, a=Thing())", "o['a']", ["o['a'] = None", "o.clear()", "o.pop('a')", "o = None"]),
    "attribute": (
        "o = Holder(); o.a = Thing()",
        "o.a",
        ["o.a = None", "del o.a", "o.__dict__.clear()", "setattr(o, 'a', 1)", "delattr(o, 'a')", "vars(o)['a'] = 2", "o.__dict__ = {}"]
        + ["o.__dict__.update(a=1)", "object.__setattr__(o, 'a', 3)", "o = None"],
    ),
    "slot": ("o = SlotHolder(); o.a = Thing()", "o.a", ["o.a = None", "del o.a", "o = None"]),
    "tuple": ("o = (Thing(), 1)", "o[0]", ["o = None", "del o", "o = o[1:]"]),
    "list_in_a_dict": ("o = {'x': [Thing()]}", "o['x'][0]", ["o['x'] = None", "o.clear()", "o['x'].clear()", "o['x'] = [1]", "o = None"]),
    "attribute_of_an_item": ("o = [Holder()]; o[0].a = Thing()", "o[0].a", ["o[0].a = None", "o[0] = None", "o.clear()", "o = None"]),
    "simple_namespace": ("o = types.SimpleNamespace(a=Thing())", "o.a", ["o.a = None", "del o.a", "o = None"]),
    "bound_method": ("o = Thing().method", "o.__self__", ["o = None"]),
    "default_of_a_function": ("t = Thing()\ndef o(a=t): return a\ndel t", "o()", ["o = None", "o.__defaults__ = None"]),
    "class_attribute": ("class o: a = Thing()", "o.a", ["o.a = None", "del o.a"]),
    "argument_of_an_exception": ("o = ValueError(Thing())", "o.args[0]", ["o = None", "o.args = ()"]),
    "partial": ("o = _partial(_ident, Thing())", "o.args[0]", ["o = None"]),
    "iterator": ("o = iter([Thing(), 1])", "o.__reduce__()[1][0][0]", ["o = None"]),
}
# How the program looks at the end, and what it asks after it.
WITNESSES = {
    "reference": ("w = weakref.ref({})", "w() is None"),
    "callback": ("w = weakref.ref({}, lambda _: LOG.append('told'))", "w() is None"),
    "finalize": ("w = weakref.finalize({}, LOG.append, 'finalized')", "w.alive"),
    "finalizer": ("w = None", "None"),
}


def _programs(place: str, witness: str, broken: bool) -> Iterator[tuple[str, Callable[[], Any], Callable[[torch.Tensor], Any]]]:
    """Each way to let go: the statement, what takes the names away that the program leaves, and the program."""
    make, path, releases = PLACES[place]
    look, ask = WITNESSES[witness]
    if witness == "finalizer":
        make = make.replace("Thing()", "LoudThing()")
    for release in releases:
        pause = "minidynamo.graph_break()" if broken else "pass"
        body = [*make.split("\n"), look.format(path), pause, "LOG.append('before')", "y = x + 1", release, "LOG.append('after')"]
        text = "\n    ".join(["def program(x):", "LOG.clear()", *body, f"asked = {ask}", "return asked, y.tolist(), list(LOG)"])
        names = dict(globals())
        exec(text, names)
        yield release, names.clear, names["program"]


@pytest.mark.parametrize("broken", [False, True], ids=["whole", "broken"])
@pytest.mark.parametrize("witness", WITNESSES)
@pytest.mark.parametrize("place", PLACES)
def test_object_ends_with_its_place(place: str, witness: str, broken: bool) -> None:
    for release, clear, program in _programs(place, witness, broken):
        compiled = minidynamo.compile(program, backend="eager")
        wanted = program(torch.ones(1))
        assert [compiled(torch.ones(1)) for _ in range(2)] == [wanted] * 2, release
        clear()


def test_object_that_another_place_holds_is_found_by_its_reference() -> None:
    first, second = Thing(), [None]
    holder = types.SimpleNamespace(a=first, kept=weakref.ref(first))
    del first
    gc.collect()

    def program(x: torch.Tensor) -> tuple[bool, torch.Tensor]:
        second[0] = holder.a
        holder.a = None
        return holder.kept() is second[0], x + 1

    found, y = minidynamo.compile(program, backend="eager")(torch.ones(1))
    assert found
    assert y.item() == 2
    assert isinstance(second[0], Thing)


def test_replaced_state_that_nobody_looks_at_breaks_nothing() -> None:
    holder = types.SimpleNamespace(cache=[Thing()], by_name={"a": Thing()}, queue=collections.deque([Thing()], maxlen=1))

    def program(x: torch.Tensor) -> torch.Tensor:
        holder.cache = [x]
        holder.by_name["a"] = 1
        holder.queue.append(2)
        return x + 1

    minidynamo.compile(program, backend="eager", fullgraph=True)(torch.ones(1))
    assert holder.by_name == {"a": 1}
    assert list(holder.queue) == [2]




def test_builtin_function_that_a_library_watches_breaks_nothing() -> None:
    watched = weakref.ref(len, LOG.append)
    holder = types.SimpleNamespace(a=len, b={"a": len})

    def program(x: torch.Tensor) -> torch.Tensor:
        holder.a = None
        holder.b["a"] = None
        return x + 1

    minidynamo.compile(program, backend="eager", fullgraph=True)(torch.ones(1))
    assert holder.a is None
    assert watched() is len
