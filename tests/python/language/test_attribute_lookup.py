"""Attribute lookup is CPython's, on instances, classes and modules: generated class hierarchies, run eagerly and captured.

A hierarchy is a random mix of metaclasses, bases, data and other descriptors (written in Python), properties, some of which raise
AttributeError, slots (set or not), class and instance attributes, `__getattr__` and `__getattribute__`.
"""

# The code is under test as it is spelled out here.
# ruff: noqa: SIM105

import random
import types
from collections.abc import Callable
from typing import Any

import pytest
import torch

import minidynamo

X = torch.linspace(-1.0, 1.0, 4)
NAMES = ("a", "b", "c", "d")


class Data:
    """A data descriptor that returns its value, or raises."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if self.value is None:
            raise AttributeError("data descriptor")
        return ("data", self.value, instance is None)

    def __set__(self, instance: Any, value: Any) -> None:
        pass


class NonData:
    def __init__(self, value: Any) -> None:
        self.value = value

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if self.value is None:
            raise AttributeError("non-data descriptor")
        return ("non-data", self.value, instance is None)


class Plain:
    """No descriptor."""

    def __init__(self, value: Any) -> None:
        self.value = value


def attribute(choose: random.Random, slot_names: list[str], name: str) -> Any:
    value = choose.choice([1, 2, None])

    def getter(self: Any) -> Any:
        if value is None:
            raise AttributeError("property")
        return ("property", value)

    kind = choose.randrange(8)
    if kind == 0:
        return Data(value)
    if kind == 1:
        return NonData(value)
    if kind == 2:
        return property(getter)
    if kind == 3:
        return staticmethod(getter) if value else staticmethod(lambda *args: "static")
    if kind == 4:
        return classmethod(lambda cls, *args: ("classmethod", value))
    if kind == 5:
        return lambda self, *args: ("method", value)
    if kind == 6:
        return value
    return Plain(value)


def fallback(choose: random.Random) -> Any:
    known = choose.choice(NAMES)
    other = choose.choice([ValueError, AttributeError])

    def __getattr__(self: Any, name: str) -> Any:
        if name == known:
            return ("getattr", name)
        raise other(name) if name in NAMES else AttributeError(name)

    return __getattr__


def own_lookup(choose: random.Random, base: type) -> Any:
    known = choose.choice(NAMES)

    def __getattribute__(self: Any, name: str) -> Any:
        if name == known:
            return ("getattribute", name)
        return base.__getattribute__(self, name)

    return __getattribute__


def namespace(choose: random.Random, base: type, slots: bool) -> dict[str, Any]:
    members: dict[str, Any] = {}
    slot_names = [name for name in NAMES if slots and choose.random() < 0.3]
    for name in NAMES:
        if name not in slot_names and choose.random() < 0.4:
            members[name] = attribute(choose, slot_names, name)
    if slots:
        members["__slots__"] = (*slot_names, *(("__dict__",) if choose.random() < 0.5 and base is object else ()))
    if choose.random() < 0.35:
        members["__getattr__"] = fallback(choose)
    if choose.random() < 0.12:
        members["__getattribute__"] = own_lookup(choose, base)
    return members


def hierarchy(seed: int) -> tuple[Any, Any]:
    """An instance and its class."""
    choose = random.Random(seed)
    meta: type = type
    if choose.random() < 0.6:
        meta = type("MetaBase", (type,), namespace(choose, type, False))
        meta = type("Meta", (meta,), namespace(choose, type, False))
    slots = choose.random() < 0.4
    base = meta("Base", (), namespace(choose, object, slots))
    side = meta("Side", (), {**namespace(choose, object, False), **({"__slots__": ()} if slots else {})})
    cls = meta("Thing", (base, side) if choose.random() < 0.5 else (base,), namespace(choose, object, False))
    instance = object.__new__(cls)
    for name in NAMES:
        if choose.random() < 0.4:
            try:
                object.__setattr__(instance, name, ("instance", name))
            except AttributeError:
                pass
    return instance, cls


def shown(value: Any) -> Any:
    """Without addresses."""
    if isinstance(value, (tuple, list)):
        return [shown(item) for item in value]
    if isinstance(value, (types.FunctionType, types.MethodType)):
        return type(value).__name__, value.__name__
    return value if isinstance(value, (int, str, type(None))) else type(value).__name__


def read(get: Callable[[], Any]) -> Any:
    try:
        return get()
    except AttributeError:
        return "AttributeError"
    except ValueError:
        return "ValueError"


def lookups(x, thing, cls):
    found = [
        read(lambda: thing.a),
        read(lambda: thing.b),
        read(lambda: thing.c),
        read(lambda: thing.d),
        read(lambda: cls.a),
        read(lambda: cls.b),
        read(lambda: cls.c),
        read(lambda: cls.d),
        read(lambda: hasattr(thing, "a")),
        read(lambda: hasattr(thing, "b")),
        read(lambda: hasattr(cls, "c")),
        read(lambda: hasattr(cls, "d")),
        read(lambda: getattr(thing, "c", "default")),
        read(lambda: getattr(thing, "d", "default")),
        read(lambda: getattr(cls, "a", "default")),
        read(lambda: getattr(cls, "b", "default")),
        read(lambda: super(cls, thing).a),
        read(lambda: super(cls, thing).b),
        read(lambda: super(cls, cls).c),
        read(lambda: object.__getattribute__(thing, "d")),
        read(lambda: thing.absent),
        read(lambda: cls.absent),
    ]
    return x + 1, found


@pytest.mark.parametrize("first", range(0, 160, 40))
def test_generated_hierarchies(first: int) -> None:
    captured_whole = 0
    for seed in range(first, first + 40):
        reports: list[Any] = []

        def backend(graph: Any, inputs: Any, reports: list[Any] = reports) -> Any:
            reports.append(graph)
            return graph

        thing, cls = hierarchy(seed)
        expected = [shown(lookups(X, thing, cls)[1]) for _ in range(2)]
        captured = minidynamo.compile(lookups, backend=backend)
        assert [shown(captured(X, thing, cls)[1]) for _ in range(2)] == expected, f"hierarchy {seed}"
        captured_whole += len(reports) == 1
    assert captured_whole > 20


@pytest.mark.parametrize("first", range(0, 80, 40))
def test_one_capture_meets_changed_hierarchies(first: int) -> None:
    """A capture for one hierarchy is not taken to be true of the next, nor of the same one after a change."""
    captured = minidynamo.compile(lookups, backend="eager")
    for seed in range(first, first + 40):
        choose = random.Random(-seed - 1)
        thing, cls = hierarchy(seed)
        for _ in range(3):
            assert shown(captured(X, thing, cls)[1]) == shown(lookups(X, thing, cls)[1]), f"hierarchy {seed}"
            target = choose.choice([cls, *cls.__mro__[1:-1], *(k for k in type(cls).__mro__ if k not in (type, object))])
            name = choose.choice([*NAMES, "absent", "__getattr__"])
            if name == "__getattr__":
                type.__setattr__(target, name, fallback(choose))
            elif name in target.__dict__ and not isinstance(target.__dict__[name], types.MemberDescriptorType):
                try:
                    type.__delattr__(target, name)
                except AttributeError:
                    continue
            elif name not in target.__dict__:
                try:
                    type.__setattr__(target, name, attribute(choose, [], name))
                except AttributeError:  # a property of the metaclass without a setter
                    continue


def module_lookups(x, m):
    return x + 1, [
        read(lambda: m.a),
        read(lambda: m.b),
        read(lambda: m.c),
        read(lambda: hasattr(m, "a")),
        read(lambda: hasattr(m, "b")),
        read(lambda: getattr(m, "c", "default")),
        read(lambda: getattr(m, "absent", "default")),
        m.__name__,
    ]


@pytest.mark.parametrize("seed", range(40))
def test_modules(seed: int) -> None:
    choose = random.Random(seed)
    cls: type = types.ModuleType
    if choose.random() < 0.6:
        members = {k: v for k, v in namespace(choose, types.ModuleType, False).items() if not isinstance(v, Plain)}
        cls = type("Module", (types.ModuleType,), members)
    module = cls("generated")
    captured = minidynamo.compile(module_lookups, backend="eager")
    for _ in range(4):
        assert shown(captured(X, module)[1]) == shown(module_lookups(X, module)[1])
        name = choose.choice(["a", "b", "c", "__getattr__"])
        module.__dict__[name] = (lambda n: ("module", n)) if name == "__getattr__" else choose.choice([1, 2])
