"""Objects that the call makes and that live on behind a graph break are what they are in eager: whatever their class keeps
where Python does not look. Those that cannot be carried over are not made before the break.

By table, and by going through every class written in C that the standard library's extension modules have.
"""

import array
import collections
import contextlib
import functools
import gc
import importlib
import io
import itertools
import random
import re
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import minidynamo

X = torch.arange(3.0)
MODULES = [
    "builtins",
    "itertools",
    "functools",
    "operator",
    "collections",
    "_collections",
    "_random",
    "_struct",
    "array",
    "_decimal",
    "_datetime",
    "_json",
    "_csv",
    "_pickle",
    "_hashlib",
    "_md5",
    "_sha1",
    "_sha256",
    "_sha512",
    "_blake2",
    "_sha3",
    "zlib",
    "_bz2",
    "_lzma",
    "_sre",
    "_operator",
    "_functools",
    "_contextvars",
    "_queue",
    "_thread",
    "_weakref",
    "_zoneinfo",
    "_bisect",
    "_heapq",
    "_statistics",
    "unicodedata",
    "math",
    "cmath",
    "_codecs",
    "binascii",
    "_string",
    "_elementtree",
    "pyexpat",
    "_asyncio",
    "_tokenize",
    "_symtable",
    "_ctypes",
    "types",
]
ARGUMENTS: list[tuple[Any, ...]] = [(), ([1, 2, 3],), ("ab",), (b"ab",), (3,), (len, [[1], [2, 3]]), ("i", [1, 2]), (2, 3), ("b", b"ab")]
# Classes of which a bare instance does harm, or tells something about the process or the time.
LEFT_OUT = {"type", "object", "super", "BaseException", "_Feature"}


def text(value: Any) -> str:
    return re.sub(r"0x[0-9a-f]+", "0x", repr(value))


def look(made: Any) -> list[str]:
    """The state that an object shows of itself, in the order of asking. Asking advances iterators and generators of numbers."""
    seen = [type(made).__name__]
    with contextlib.suppress(Exception):
        seen.append(text(made))
    for name in ("__length_hint__", "__len__", "__getstate__", "random", "getvalue", "hexdigest", "tell", "read", "flush", "copy"):
        method = getattr(made, name, None)
        if method is None or isinstance(made, type):
            continue
        try:
            seen.append(f"{name}: {text(method())}")
        except Exception as error:
            seen.append(f"{name}: {type(error).__name__}")
    try:
        seen.append(text(list(itertools.islice(made, 5))))
    except Exception as error:
        seen.append(type(error).__name__)
    return seen


def agree(make: Callable[[], Any], advance: Callable[[Any], object]) -> None:
    def f(x: torch.Tensor) -> Any:
        made = make()
        advance(made)
        y = x + 1
        minidynamo.graph_break()
        return y * 2, look(made)

    expected = [str(f(X)) for _ in range(2)]
    optimized = minidynamo.optimize("eager")(f)
    assert [str(optimized(X)) for _ in range(2)] == expected


class Random(random.Random):
    pass


class Count(itertools.count):  # type: ignore[type-arg]
    pass


class Slots:
    __slots__ = ("__dict__", "a")


class HidesSlot(Slots):
    @property
    def a(self) -> str:  # type: ignore[override]
        return "property"


class Hidden:
    @property
    def a(self) -> str:
        return f"property of {vars(self)}"


def with_hidden_attribute() -> Hidden:
    made = Hidden()
    vars(made)["a"] = 5
    return made


def with_hidden_slot() -> HidesSlot:
    made = HidesSlot()
    Slots.a.__set__(made, 7)  # type: ignore[attr-defined]
    return made


def countdown(n: int) -> Iterator[int]:
    while n:
        yield n
        n -= 1


def class_with_next_of_a_generator() -> Any:
    class Items:
        __next__ = countdown(3).__next__

        def __iter__(self) -> Any:
            return self

    return Items()


def nothing(made: Any) -> None:
    pass


CASES: dict[str, tuple[Callable[[], Any], Callable[[Any], object]]] = {
    "seeded random": (lambda: random.Random(7), lambda r: r.random()),
    "subclass of random": (lambda: Random(7), lambda r: r.gauss(0, 1)),
    "subclass of count": (lambda: Count(3), next),
    "count": (lambda: itertools.count(3, 2), next),
    "cycle": (lambda: itertools.cycle([1, 2, 3]), next),
    "chain": (lambda: itertools.chain([1, 2], [3]), next),
    "islice": (lambda: itertools.islice([1, 2, 3, 4], 1, 4), next),
    "accumulate": (lambda: itertools.accumulate([1, 2, 3]), next),
    "groupby": (lambda: itertools.groupby([1, 1, 2]), next),
    "tee": (lambda: itertools.tee([1, 2, 3])[0], next),
    "product": (lambda: itertools.product([1, 2], [3, 4]), next),
    "map": (lambda: map(str, [1, 2, 3]), next),
    "zip": (lambda: zip([1, 2], [3, 4], strict=False), next),
    "enumerate": (lambda: enumerate([1, 2, 3], 5), next),
    "reversed": (lambda: reversed([1, 2, 3]), next),
    "iterator": (lambda: iter([1, 2, 3]), next),
    "iterator of a text": (lambda: iter("abc"), next),
    "iterator of a call": (lambda: iter(iter([1, 2, 3]).__next__, 3), next),
    "generator": (lambda: countdown(3), next),
    "generator expression": (lambda: (k * 2 for k in [1, 2, 3]), next),
    "deque": (lambda: collections.deque([1, 2, 3], 4), lambda d: d.rotate(1)),
    "iterator of a deque": (lambda: iter(collections.deque([1, 2, 3])), next),
    "array": (lambda: array.array("i", [1, 2, 3]), lambda a: a.append(4)),
    "bytearray": (lambda: bytearray(b"abc"), lambda b: b.append(1)),
    "memoryview": (lambda: memoryview(bytearray(b"abc")), lambda m: m[0]),
    "text file": (lambda: io.StringIO("a\nb\nc"), lambda f: f.readline()),
    "bytes file": (lambda: io.BytesIO(b"a\nb\nc"), lambda f: f.read(1)),
    "match": (lambda: re.match(r"a(.)", "abc"), lambda m: m.group(1)),
    "matches": (lambda: re.finditer(r"a.", "abacad"), next),
    "scanner": (lambda: re.compile("a").scanner("aba"), lambda s: s.match()),  # type: ignore[attr-defined]
    "namespace": (lambda: types.SimpleNamespace(a=1), lambda n: setattr(n, "b", 2)),
    "counter": (lambda: collections.Counter("abca"), lambda c: c.update("b")),
    "partial": (lambda: functools.partial(int, base=3), lambda p: setattr(p, "note", 1)),
    "compared by": (lambda: functools.cmp_to_key(lambda a, b: a - b)(3), nothing),
    "property in __dict__": (with_hidden_attribute, nothing),
    "slot under a property": (with_hidden_slot, nothing),
    "__next__ of a generator": (class_with_next_of_a_generator, next),
}


@pytest.mark.parametrize("name", CASES)
def test_crosses_a_break(name: str) -> None:
    agree(*CASES[name])


def advance(made: Any) -> None:
    if hasattr(type(made), "__next__"):
        next(made, None)


def natively_made() -> list[Any]:
    """Each class of the extension modules, with arguments that it takes."""
    found: dict[type, tuple[Any, ...]] = {}
    for module_name in MODULES:
        try:
            module = importlib.import_module(module_name)
        except ImportError:
            continue
        for value in list(vars(module).values()):
            if not isinstance(value, type) or value in found or value.__name__ in LEFT_OUT or issubclass(value, (type, BaseException)):
                continue
            for arguments in ARGUMENTS:
                try:
                    made = [value(*arguments) for _ in range(2)]
                    for one in made:
                        advance(one)
                except Exception:
                    continue
                if look(made[0]) == look(made[1]):  # not seeded by the time
                    found[value] = arguments
                    break
    return [pytest.param(kind, arguments, id=f"{kind.__module__}.{kind.__name__}") for kind, arguments in found.items()]


@pytest.mark.parametrize("kind, arguments", natively_made())
def test_every_native_class(kind: type, arguments: tuple[Any, ...]) -> None:
    agree(lambda: kind(*arguments), advance)


@pytest.mark.parametrize("kind, arguments", natively_made())
def test_subclass_of_every_native_class(kind: type, arguments: tuple[Any, ...]) -> None:
    try:
        derived = types.new_class("Derived", (kind,))
    except TypeError:
        pytest.skip("cannot be derived from")
    agree(lambda: derived(*arguments), advance)


def test_slots_that_hold_lists_from_before_the_call() -> None:
    keys = [1, 2, 3]

    def f(x: torch.Tensor) -> Any:
        return x + 1, str(collections.abc.KeysView(keys).__getstate__())  # type: ignore[arg-type, attr-defined]

    assert str(minidynamo.optimize("eager")(f)(X)) == str(f(X))


SPECIAL_METHODS: dict[str, Callable[[], Any]] = {
    "__next__": lambda: iter([1, 2, 3]).__next__,
    "__len__": lambda: [1, 2].__len__,
    "__getitem__": lambda: [1, 2, 3].pop,
    "__call__": lambda: [1, 2].pop,
    "__contains__": lambda: staticmethod(functools.partial(lambda items, item: items.append(item) or True, [])),
}
USES: dict[str, Callable[[Any], Any]] = {
    "__next__": next,
    "__len__": len,
    "__getitem__": lambda made: made[0],
    "__call__": lambda made: made(),
    "__contains__": lambda made: 3 in made,
}


@pytest.mark.parametrize("where", ["inside", "outside"])
@pytest.mark.parametrize("name", SPECIAL_METHODS)
def test_special_method_of_another_object(name: str, where: str) -> None:
    """It works on that object, which a trace must not change."""

    def run(transform: Callable[[Any], Any]) -> list[str]:
        kind = type("Kind", (), {name: SPECIAL_METHODS[name]()})
        outside = kind()

        def f(x: torch.Tensor) -> Any:
            made = outside if where == "outside" else kind()
            return x + 1, USES[name](made)

        g = transform(f)
        return [str(g(X)) for _ in range(2)]

    assert run(minidynamo.optimize("eager")) == run(lambda f: f)


def test_there_are_native_classes() -> None:
    assert len(natively_made()) > 80


# --- objects that an unread variable keeps alive


class Noisy:
    def __init__(self, said: list[str]) -> None:
        self.said = said


def agree_on_end(f: Callable[..., Any]) -> None:
    def run(call: Callable[..., Any]) -> list[Any]:
        said: list[Any] = []
        results = []
        for _ in range(2):
            try:
                results.append(str(call(X, said)))
            except Exception as error:
                results.append(repr(error))
            gc.collect()
            said.append("returned")
        return [results, said]

    expected = run(f)
    assert run(minidynamo.optimize("eager")(f)) == expected


def test_unread_memoryview_keeps_its_buffer_open() -> None:
    def f(x: torch.Tensor, said: list[Any]) -> Any:
        data = bytearray(b"abc")
        view = memoryview(data)  # noqa: F841
        y = x + 1
        minidynamo.graph_break()
        data.append(1)
        return y

    agree_on_end(f)


def test_unread_list_of_memoryviews() -> None:
    def f(x: torch.Tensor, said: list[Any]) -> Any:
        data = bytearray(b"abc")
        views = [{"view": memoryview(data)}]  # noqa: F841
        y = x + 1
        minidynamo.graph_break()
        data.append(1)
        return y

    agree_on_end(f)


def test_unread_referent_of_a_weak_reference() -> None:
    def f(x: torch.Tensor, said: list[Any]) -> Any:
        made = Noisy(said)
        reference = weakref.ref(made)
        y = x + 1
        minidynamo.graph_break()
        return y, reference() is None

    agree_on_end(f)


def test_unread_generator_runs_its_finally() -> None:
    def values(said: list[Any]) -> Iterator[int]:
        try:
            yield 1
        finally:
            said.append("finally")

    def f(x: torch.Tensor, said: list[Any]) -> Any:
        started = values(said)
        next(started)
        y = x + 1
        minidynamo.graph_break()
        said.append("after the break")
        return y

    agree_on_end(f)


def test_unread_finalizer() -> None:
    def f(x: torch.Tensor, said: list[Any]) -> Any:
        made = Noisy(said)
        weakref.finalize(made, said.append, "finalized")
        y = x + 1
        minidynamo.graph_break()
        said.append("after the break")
        return y

    agree_on_end(f)


# --- __reduce_ex__ over a list that it changes itself


class ReplacesSlots:
    __slots__ = ("a", "b", "c")

    def __getattr__(self, name: str) -> Any:
        slot_names = type(self).__dict__.get("__slotnames__")
        if slot_names is not None:
            slot_names[:] = [f"new_{k}" for k in range(3)]
        raise AttributeError(name)


def test_slots_change_while_they_are_walked() -> None:
    def f(x: torch.Tensor) -> Any:
        made = ReplacesSlots()
        return x + 1, type(made.__reduce_ex__(2)).__name__

    import copyreg

    for _ in range(2):
        copyreg._slotnames(ReplacesSlots)  # type: ignore[attr-defined]
        assert str(minidynamo.optimize("eager")(f)(X)) == str(f(X))
        minidynamo.reset()
