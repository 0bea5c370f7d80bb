"""Objects of C types: what they hold is known or not read.

Each maker returns an object from outside, a list of reads (attributes, methods, operators), and a way to change it. A captured
function reads; between the calls the object is changed by its own means. Every call equals eager's, on an object of its own.
"""

# The code is under test as it is spelled out here.
# ruff: noqa: SIM105, UP031

import array
import collections
import contextvars
import ctypes
import datetime
import decimal
import fractions
import functools
import hashlib
import inspect
import io
import itertools
import mmap
import operator
import queue
import random
import re
import socket
import sqlite3
import string
import struct
import threading
import types
import uuid
import weakref
import xml.etree.ElementTree
import zlib
from collections.abc import Callable
from typing import Any

import pytest
import torch

import minidynamo

X = torch.linspace(-1.0, 1.0, 4)


class Structure(ctypes.Structure):
    _fields_ = [("x", ctypes.c_int), ("y", ctypes.c_double)]


class Union(ctypes.Union):
    _fields_ = [("x", ctypes.c_int), ("y", ctypes.c_uint8)]


class Owner:
    pass


OWNER = Owner()


def generator():
    yield 1
    yield 2
    yield 3


def cached(k):
    return k + 1


def memory_map() -> Any:
    made = mmap.mmap(-1, 16)
    made.write(b"abcdefgh")
    made.seek(0)
    return made


def element() -> Any:
    made = xml.etree.ElementTree.fromstring("<a k='1'>text<b/></a>")
    return made


def database() -> Any:
    made = sqlite3.connect(":memory:")
    made.execute("create table t (a)")
    return made


def frame() -> Any:
    return inspect.currentframe()


def change_nothing(it: Any) -> None:
    pass


def set_attribute(name: str, value: Any) -> Callable[[Any], None]:
    return lambda it: setattr(it, name, value)


# name: (maker, change, reads)
KINDS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any], dict[str, Callable[[Any], Any]]]] = {
    "ctypes.Structure": (
        lambda: Structure(1, 2.0),
        lambda it: setattr(it, "x", it.x + 1),
        {"x": lambda it: it.x, "y": lambda it: it.y, "b": lambda it: bool(it)},
    ),
    "ctypes.Union": (lambda: Union(1), lambda it: setattr(it, "x", it.x + 1), {"x": lambda it: it.x, "y": lambda it: it.y}),
    "ctypes.c_int": (lambda: ctypes.c_int(1), lambda it: setattr(it, "value", 5), {"v": lambda it: it.value, "b": lambda it: bool(it)}),
    "ctypes.array": (
        lambda: (ctypes.c_int * 3)(1, 2, 3),
        lambda it: operator.setitem(it, 1, it[1] + 5),
        {"i": lambda it: it[1], "l": lambda it: list(it), "n": lambda it: len(it), "s": lambda it: it[:2]},
    ),
    "ctypes.pointer": (
        lambda: ctypes.pointer(ctypes.c_int(1)),
        lambda it: setattr(it.contents, "value", it.contents.value + 1),
        {"c": lambda it: it.contents.value, "i": lambda it: it[0]},
    ),
    "array.array": (
        lambda: array.array("i", [1, 2]),
        lambda it: it.append(len(it)),
        {
            "n": lambda it: len(it),
            "i": lambda it: it[-1],
            "l": lambda it: list(it),
            "t": lambda it: it.tolist(),
            "b": lambda it: bool(it),
            "in": lambda it: 2 in it,
            "c": lambda it: it.typecode,
            "sum": lambda it: sum(it),
            "eq": lambda it: it == array.array("i", [1, 2]),
        },
    ),
    "empty array": (lambda: array.array("i"), lambda it: it.append(1), {"b": lambda it: bool(it), "n": lambda it: not it}),
    "mmap": (
        memory_map,
        lambda it: it.write(b"zz"),
        {"i": lambda it: it[0], "t": lambda it: it.tell(), "n": lambda it: len(it), "c": lambda it: it.closed},
    ),
    "memoryview": (
        lambda: memoryview(bytearray(b"abc")),
        lambda it: operator.setitem(it, 0, it[0] + 1),
        {"i": lambda it: it[0], "b": lambda it: it.tobytes(), "n": lambda it: it.nbytes, "eq": lambda it: it == b"abc"},
    ),
    "StringIO": (
        lambda: io.StringIO("text"),
        lambda it: it.write("more"),
        {"v": lambda it: it.getvalue(), "t": lambda it: it.tell(), "c": lambda it: it.closed},
    ),
    "BytesIO": (lambda: io.BytesIO(b"text"), lambda it: it.read(1), {"v": lambda it: it.getvalue(), "t": lambda it: it.tell()}),
    "closed BytesIO": (lambda: io.BytesIO(b"text"), lambda it: it.close(), {"c": lambda it: it.closed}),
    "re.Match": (
        lambda: re.match("(a)(?P<n>b)", "ab"),
        change_nothing,
        {"g": lambda it: it.group(1), "n": lambda it: it["n"], "s": lambda it: it.span(), "p": lambda it: it.pos},
    ),
    "re.Pattern": (lambda: re.compile("a+"), change_nothing, {"p": lambda it: it.pattern, "m": lambda it: bool(it.match("aa"))}),
    "datetime": (
        lambda: datetime.datetime(2020, 1, 2, 3),
        change_nothing,
        {"y": lambda it: it.year, "i": lambda it: it.isoformat(), "a": lambda it: str(it + datetime.timedelta(1))},
    ),
    "decimal": (
        lambda: decimal.Decimal("1.10"),
        lambda it: setattr(decimal.getcontext(), "prec", 3),
        {"d": lambda it: str(it / 3), "r": lambda it: str(it.real), "i": lambda it: int(it)},
    ),
    "decimal context": (
        lambda: decimal.Context(prec=5),
        lambda it: setattr(it, "prec", it.prec + 1),
        {"p": lambda it: it.prec, "t": lambda it: it.traps[decimal.Overflow]},
    ),
    "Fraction": (lambda: fractions.Fraction(1, 3), change_nothing, {"n": lambda it: it.numerator, "a": lambda it: str(it + 1)}),
    "Random": (
        lambda: random.Random(3),
        lambda it: it.seed(7),
        {"r": lambda it: it.random(), "i": lambda it: it.randint(0, 9), "s": lambda it: hash(it.getstate())},
    ),
    "struct.Struct": (
        lambda: struct.Struct("ii"),
        change_nothing,
        {"s": lambda it: it.size, "f": lambda it: it.format, "p": lambda it: len(it.pack(1, 2))},
    ),
    "Lock": (threading.Lock, lambda it: it.acquire(blocking=False), {"l": lambda it: it.locked()}),
    "RLock": (threading.RLock, lambda it: it.acquire(), {"o": lambda it: it._is_owned()}),
    "Event": (threading.Event, lambda it: it.set(), {"s": lambda it: it.is_set()}),
    "local": (threading.local, lambda it: setattr(it, "a", getattr(it, "a", 0) + 1), {"a": lambda it: getattr(it, "a", None)}),
    "socket": (socket.socket, lambda it: it.settimeout(3), {"t": lambda it: it.gettimeout(), "f": lambda it: it.fileno() >= 0}),
    "sqlite3": (
        database,
        lambda it: it.execute("insert into t values (1)"),
        {
            "n": lambda it: it.total_changes,
            "t": lambda it: it.in_transaction,
            "c": lambda it: it.execute("select count(*) from t").fetchone(),
        },
    ),
    "Element": (
        element,
        lambda it: (it.set("k", it.get("k") + "1"), setattr(it, "text", "new")),
        {
            "t": lambda it: it.text,
            "g": lambda it: it.get("k"),
            "a": lambda it: dict(it.attrib),
            "n": lambda it: len(it),
            "i": lambda it: it[0].tag,
            "tag": lambda it: it.tag,
        },
    ),
    "count": (lambda: itertools.count(3), next, {"r": repr}),
    "chain": (lambda: itertools.chain([1, 2], [3]), next, {"p": lambda it: type(it).__name__}),
    "cycle": (lambda: itertools.cycle([1, 2]), next, {"n": lambda it: next(it)}),
    "enumerate": (lambda: enumerate("abcdef"), next, {"n": lambda it: next(it)}),
    "map": (lambda: map(abs, [1, -2, 3, 4, 5, 6, 7]), next, {"n": lambda it: next(it)}),
    "itemgetter": (lambda: operator.itemgetter(1), change_nothing, {"c": lambda it: it([4, 5])}),
    "partial": (
        lambda: functools.partial(cached, 1),
        lambda it: it.__setstate__((cached, (it.args[0] + 1,), {}, None)),
        {"c": lambda it: it(), "a": lambda it: it.args, "k": lambda it: it.keywords, "m": lambda it: list(map(it, []))},
    ),
    "lru_cache": (
        lambda: functools.lru_cache(cached),
        lambda it: it(5),
        {"c": lambda it: it(2), "i": lambda it: it.cache_info(), "w": lambda it: it.__wrapped__(3)},
    ),
    "compressobj": (zlib.compressobj, lambda it: it.compress(b"x"), {"f": lambda it: len(it.copy().flush()) > 0}),
    "decompressobj": (
        zlib.decompressobj,
        lambda it: it.decompress(zlib.compress(b"x")),
        {"e": lambda it: it.eof, "u": lambda it: it.unused_data},
    ),
    "hash": (
        hashlib.sha256,
        lambda it: it.update(b"x"),
        {"h": lambda it: it.hexdigest(), "n": lambda it: it.name, "s": lambda it: it.digest_size},
    ),
    "weakref.proxy": (
        lambda: weakref.proxy(OWNER),
        lambda it: setattr(OWNER, "a", getattr(OWNER, "a", 0) + 1),
        {"a": lambda it: getattr(it, "a", None)},
    ),
    "WeakSet": (weakref.WeakSet, lambda it: it.add(OWNER), {"n": lambda it: len(it), "in": lambda it: OWNER in it}),
    "SimpleNamespace": (
        lambda: types.SimpleNamespace(a=1),
        lambda it: setattr(it, "a", it.a + 1),
        {"a": lambda it: it.a, "v": lambda it: vars(it), "r": repr},
    ),
    "mappingproxy": (
        lambda: types.MappingProxyType(vars(OWNER)),
        lambda it: setattr(OWNER, "b", len(it)),
        {"n": lambda it: len(it), "g": lambda it: it.get("b")},
    ),
    "cell": (lambda: types.CellType(1), lambda it: setattr(it, "cell_contents", 5), {"c": lambda it: it.cell_contents}),
    "method": (lambda: OWNER.__init__, change_nothing, {"n": lambda it: it.__name__}),
    "generator": (
        generator,
        next,
        {"r": lambda it: it.gi_running, "f": lambda it: it.gi_frame is None, "l": lambda it: it.gi_frame.f_lineno},
    ),
    "code": (lambda: cached.__code__, change_nothing, {"n": lambda it: it.co_name, "c": lambda it: it.co_argcount}),
    "function": (
        lambda: types.FunctionType(cached.__code__, globals()),
        lambda it: (setattr(it, "__doc__", "new"), setattr(it, "__defaults__", (4,)), setattr(it, "__name__", "n")),
        {"d": lambda it: it.__doc__, "f": lambda it: it.__defaults__, "n": lambda it: it.__name__, "q": lambda it: it.__qualname__},
    ),
    "frame": (frame, change_nothing, {"l": lambda it: it.f_lineno, "n": lambda it: it.f_code.co_name}),
    "ContextVar": (
        lambda: contextvars.ContextVar("v", default=1),
        lambda it: it.set(it.get() + 1),
        {"g": lambda it: it.get(), "n": lambda it: it.name},
    ),
    "SimpleQueue": (queue.SimpleQueue, lambda it: it.put(1), {"n": lambda it: it.qsize(), "e": lambda it: it.empty()}),
    "Queue": (queue.Queue, lambda it: it.put(1), {"n": lambda it: it.qsize()}),
    "uuid": (lambda: uuid.UUID(int=5), change_nothing, {"i": lambda it: it.int, "h": lambda it: it.hex}),
    "Formatter": (string.Formatter, change_nothing, {"f": lambda it: it.format("{}", 1)}),
    "deque": (
        lambda: collections.deque([1], 4),
        lambda it: it.append(len(it)),
        {"n": lambda it: len(it), "m": lambda it: it.maxlen, "i": lambda it: it[-1], "c": lambda it: it.count(1)},
    ),
    "bytearray": (
        lambda: bytearray(b"ab"),
        lambda it: it.append(99),
        {"n": lambda it: len(it), "i": lambda it: it[-1], "d": lambda it: it.decode()},
    ),
    "exception": (
        lambda: ValueError(1),
        lambda it: (setattr(it, "args", (2, 3)), setattr(it, "__cause__", KeyError())),
        {"a": lambda it: it.args, "c": lambda it: type(it.__cause__).__name__, "s": str},
    ),
    "OSError": (lambda: OSError(2, "text"), lambda it: setattr(it, "errno", 5), {"e": lambda it: it.errno, "f": lambda it: it.filename}),
    "slice": (lambda: slice(1, 2), change_nothing, {"s": lambda it: it.start, "i": lambda it: it.indices(5)}),
    "torch.Generator": (torch.Generator, lambda it: it.manual_seed(9), {"s": lambda it: it.initial_seed(), "d": lambda it: str(it.device)}),
    "property": (
        lambda: property(cached),
        lambda it: it.__init__(abs),
        {"f": lambda it: it.fget(-4), "n": lambda it: it.fget.__name__},
    ),
}


def outcome(f: Callable[..., Any], *args: Any) -> Any:
    try:
        result = f(*args)[1]
    except Exception as error:
        return type(error).__name__, str(error)
    return result if not isinstance(result, dict) else dict(result)


CASES = [(kind, read) for kind, (_, _, reads) in KINDS.items() for read in reads]


@pytest.mark.parametrize("kind, read", CASES)
def test_what_is_read(kind: str, read: str) -> None:
    make, change, reads = KINDS[kind]

    def f(x: torch.Tensor, it: Any, read: Callable[[Any], Any]) -> Any:
        return x + 1, read(it)

    logs = []
    precision = decimal.getcontext().prec
    for run in (f, minidynamo.compile(f, backend="eager")):
        vars(OWNER).clear()
        decimal.getcontext().prec = precision
        it = make()
        log = []
        for _ in range(4):
            log.append(outcome(run, X, it, reads[read]))
            try:
                change(it)
            except (StopIteration, TypeError, ValueError):
                pass
        logs.append(log)
    decimal.getcontext().prec = precision
    assert logs[0] == logs[1]


def increments(x, st):
    st.x += 1
    return x + st.x


def test_field_that_is_written() -> None:
    eager, traced = Structure(1, 2.0), Structure(1, 2.0)
    captured = minidynamo.compile(increments, backend="eager")
    for _ in range(4):
        assert torch.equal(captured(X, traced), increments(X, eager))
        assert traced.x == eager.x


@pytest.mark.parametrize("fields", [("x", "y")])
def test_class_of_fields(fields: tuple[str, ...]) -> None:
    def f(x: torch.Tensor) -> Any:
        return x + 1, Structure.x.offset, ctypes.sizeof(Structure), [name for name, _ in Structure._fields_]

    captured = minidynamo.compile(f, backend="eager")
    for _ in range(2):
        assert captured(X)[1:] == f(X)[1:]


# --- what depends on more than its arguments: the locale, the process, the file system

STATE: dict[str, Callable[[Any], Any]] = {
    "format n": lambda x: format(1234567, "n"),
    "f-string n": lambda x: f"{1234567:n} {1234.5:n}",
    "str.format n": lambda x: "{:n} {:{}}".format(1234567, 12345, "n"),
    "percent": lambda x: "%d" % 1234567,
    "int.__format__": lambda x: (1234567).__format__("n"),
    "environ": lambda x: __import__("os").environ.get("MINIDYNAMO_TEST_STATE"),
    "path": lambda x: len(__import__("sys").path),
    "modules": lambda x: "minidynamo_test_state" in __import__("sys").modules,
    "filters": lambda x: len(__import__("warnings").filters),
    "cwd": lambda x: __import__("os").getcwd(),
    "exists": lambda x: __import__("os").path.exists("minidynamo_test_state"),
    "gc": lambda x: __import__("gc").isenabled(),
    "decimal": lambda x: str(decimal.Decimal(1) / 3),
    "switch": lambda x: __import__("sys").getswitchinterval(),
}


@pytest.mark.parametrize("state", STATE)
def test_state_of_the_process(state: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import gc
    import locale
    import os
    import sys
    import warnings

    read = STATE[state]

    def f(x: torch.Tensor) -> Any:
        return x + 1, read(x)

    captured = minidynamo.compile(f, backend="eager")
    for _ in range(2):
        assert outcome(captured, X) == outcome(f, X)
    monkeypatch.setenv("MINIDYNAMO_TEST_STATE", "set")
    monkeypatch.setitem(sys.modules, "minidynamo_test_state", types.ModuleType("minidynamo_test_state"))
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "minidynamo_test_state").write_text("")
    monkeypatch.chdir(tmp_path)
    before, precision, interval = locale.setlocale(locale.LC_ALL), decimal.getcontext().prec, sys.getswitchinterval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImportWarning)
        try:
            for name in ("de_DE.UTF-8", "en_US.UTF-8"):
                try:
                    locale.setlocale(locale.LC_ALL, name)
                    break
                except locale.Error:
                    continue
            decimal.getcontext().prec = 5
            gc.disable()
            sys.setswitchinterval(0.01)
            for _ in range(2):
                assert outcome(captured, X) == outcome(f, X)
        finally:
            locale.setlocale(locale.LC_ALL, before)
            decimal.getcontext().prec = precision
            gc.enable()
            sys.setswitchinterval(interval)
    assert os.environ["MINIDYNAMO_TEST_STATE"] == "set"
