"""No method of the program's runs on a real object while a trace is made, when its guards are built, or when they are checked.

Instances of container and number subclasses whose every special method records its call: what is recorded when the capture is
complete and nothing has run yet is nothing, and what is recorded after the calls is what eager records.
"""

# The code is under test as it is spelled out here.
# ruff: noqa: C416, SIM105

import collections
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import minidynamo

X = torch.linspace(-1.0, 1.0, 4)
CALLS: list[str] = []

SKIPPED = {
    "__new__",
    "__init__",
    "__class__",
    "__init_subclass__",
    "__subclasshook__",
    "__class_getitem__",
    "__dict__",
    "__doc__",
    "__module__",
    "__slots__",
    "__weakref__",
    "__getattribute__",
    "__annotations__",
    "__abstractmethods__",
    "__match_args__",
    "__orig_bases__",
    "__parameters__",
    "__setattr__",
    "__reversed__" if not hasattr(list, "__reversed__") else "",
}


def recording(base: type, *, lookups: bool) -> type:
    """A subclass each of whose methods appends its name to CALLS, and does what the base's does."""
    members: dict[str, Any] = {}
    for name in dir(base):
        method = getattr(base, name)
        if name in SKIPPED or not callable(method) or isinstance(base.__dict__.get(name), (classmethod, staticmethod)):
            continue

        def recorded(self: Any, *args: Any, _name: str = name, _method: Any = method, **kwargs: Any) -> Any:
            CALLS.append(_name)
            return _method(self, *args, **kwargs)

        members[name] = recorded
    for name in ("maxlen", "default_factory", "real", "imag", "args"):
        if isinstance(getattr(base, name, None), (types.GetSetDescriptorType, types.MemberDescriptorType)):
            members[name] = property(lambda self, _name=name: CALLS.append(_name))
    if lookups:

        def __getattribute__(self: Any, name: str) -> Any:
            CALLS.append(f"lookup of {name}")
            return base.__getattribute__(self, name)

        members["__getattribute__"] = __getattribute__
    return type(f"Recording{base.__name__}", (base,), members)


Pair = collections.namedtuple("Pair", "first second")

MAKERS: dict[str, tuple[type, Callable[[type], Any]]] = {
    "list": (list, lambda cls: cls([1, 2])),
    "tuple": (tuple, lambda cls: cls((1, 2))),
    "dict": (dict, lambda cls: cls({1: 10, 2: 20})),
    "set": (set, lambda cls: cls({1, 2})),
    "frozenset": (frozenset, lambda cls: cls({1, 2})),
    "deque": (collections.deque, lambda cls: cls([1, 2], 5)),
    "OrderedDict": (collections.OrderedDict, lambda cls: cls({1: 10, 2: 20})),
    "defaultdict": (collections.defaultdict, lambda cls: cls(int, {1: 10, 2: 20})),
    "Counter": (collections.Counter, lambda cls: cls([1, 1, 2])),
    "namedtuple": (Pair, lambda cls: cls(1, 2)),
    "UserDict": (collections.UserDict, lambda cls: cls({1: 10, 2: 20})),
    "UserList": (collections.UserList, lambda cls: cls([1, 2])),
    "ChainMap": (collections.ChainMap, lambda cls: cls({1: 10}, {2: 20})),
    "int": (int, lambda cls: cls(3)),
    "float": (float, lambda cls: cls(2.5)),
    "str": (str, lambda cls: cls("ab")),
    "bytes": (bytes, lambda cls: cls(b"ab")),
    "bytearray": (bytearray, lambda cls: cls(b"ab")),
    "complex": (complex, lambda cls: cls(1 + 2j)),
    "Exception": (ValueError, lambda cls: cls("text")),
    "SimpleNamespace": (types.SimpleNamespace, lambda cls: cls(a=1)),
    "object": (object, lambda cls: cls()),
}


def attempt(operation: Callable[[], Any]) -> Any:
    try:
        return operation()
    except (TypeError, AttributeError, KeyError, IndexError, ValueError) as error:
        return type(error).__name__


def only_passed(x, it):
    return x + 1, it


def in_a_list(x, it):
    return x + 1, [it, (it,), {"k": it}]


def length(x, it):
    return x + 1, attempt(lambda: len(it))


def truth(x, it):
    return x + (1 if it else 2)


def iterated(x, it):
    return x + 1, attempt(lambda: [i for i in it])


def to_list(x, it):
    return x + 1, attempt(lambda: list(it))


def compared(x, it):
    return x + 1, it == 3, it != [1, 2], it == it


def member(x, it):
    return x + 1, attempt(lambda: 1 in it), attempt(lambda: it in [1, 2])


def item(x, it):
    return x + 1, attempt(lambda: it[1])


def added(x, it):
    return x + 1, attempt(lambda: it + it), attempt(lambda: it * 2)


def kind(x, it):
    return x + 1, isinstance(it, (list, dict, int)), type(it).__name__, callable(it)


def attribute(x, it):
    it.extra = 5
    return x + 1, it.extra, hasattr(it, "absent")


def changed(x, it):
    attempt(lambda: it.append(3))
    attempt(lambda: it.update({3: 30}))
    attempt(lambda: it.add(3))
    return x + 1


def broken(x, it):
    minidynamo.graph_break()
    return x + 1, attempt(lambda: len(it)), it


USES = [only_passed, in_a_list, length, truth, iterated, to_list, compared, member, item, added, kind, attribute, changed, broken]


def contents(value: Any) -> Any:
    """The contents of an object, asked past its own methods."""
    if isinstance(value, torch.Tensor):
        return value.tolist()
    if isinstance(value, (dict, collections.UserDict, collections.ChainMap)):
        return type(value).__name__
    if isinstance(value, collections.deque):
        return [contents(i) for i in collections.deque.__iter__(value)]
    for base in (list, tuple, set, frozenset):
        if isinstance(value, base):
            return [contents(i) for i in base.__iter__(value)]
    return value if type(value) in (int, float, str, bool, type(None)) else type(value).__name__


class Stopped(Exception):
    """Raised by the backend: the trace is complete, and nothing has run."""


@pytest.fixture(autouse=True)
def no_calls() -> Iterator[None]:
    CALLS.clear()
    yield
    CALLS.clear()


@pytest.mark.parametrize("lookups", [False, True], ids=["methods", "lookups"])
@pytest.mark.parametrize("kind_of", MAKERS)
def test_capture_runs_nothing(kind_of: str, lookups: bool) -> None:
    base, make = MAKERS[kind_of]
    recorded = recording(base, lookups=lookups)
    captures = 0
    for use in USES:
        seen: list[list[str]] = []

        def backend(graph: Any, inputs: Any, seen: list[list[str]] = seen) -> Any:
            seen.append(list(CALLS))
            raise Stopped

        it = make(recorded)
        CALLS.clear()
        captured = minidynamo.compile(use, backend=backend, fullgraph=True)  # the end of the trace raises before anything has run
        try:
            captured(X, it)
        except Exception:
            pass
        assert CALLS == [], f"{use.__name__} of a {kind_of} ran {CALLS}"
        captures += len(seen)
    assert captures >= 2


@pytest.mark.parametrize("lookups", [False, True], ids=["methods", "lookups"])
@pytest.mark.parametrize("kind_of", MAKERS)
def test_calls_record_what_eager_records(kind_of: str, lookups: bool) -> None:
    base, make = MAKERS[kind_of]
    recorded = recording(base, lookups=lookups)
    for use in USES:
        logs = []
        for run in (use, minidynamo.compile(use, backend="eager")):
            it = make(recorded)
            log = []
            for _ in range(3):
                CALLS.clear()
                result = attempt(lambda run=run, it=it: run(X, it))
                log.append((list(CALLS), contents(result)))
            logs.append(log)
        assert logs[0] == logs[1], f"{use.__name__} of a {kind_of}"


def test_keys_with_methods_of_their_own() -> None:
    class Key:
        def __init__(self, number: int) -> None:
            self.number = number

        def __hash__(self) -> int:
            CALLS.append("hash")
            return 5

        def __eq__(self, other: object) -> bool:
            CALLS.append("eq")
            return isinstance(other, Key) and self.number == other.number

    def f(x, table):
        return x + len(table), list(table.values()), table.get("absent"), "absent" in table

    for cls in (dict, collections.OrderedDict, collections.defaultdict):
        pairs = [(Key(1), 10), (Key(2), 20)]
        table = cls(int, pairs) if cls is collections.defaultdict else cls(pairs)
        captured = minidynamo.compile(f, backend="eager")
        for _ in range(3):
            CALLS.clear()
            expected = f(X, table)
            calls = list(CALLS)
            CALLS.clear()
            result = captured(X, table)
            assert result[1:] == expected[1:]
            assert calls == CALLS
