"""The cases of test_coverage.py, as tables of text.

A table has a block for each case: a name at the start of a line, two spaces, and Python statements, on the same line or
indented below. The value of the last statement, if it is an expression, is the result. Names of INPUTS are parameters of the
program that is made of it, with fresh values for each call; HELPERS and MODULES are there where they are named. What stands
before a line `---` is at the level of the module. A block that defines `f` is a whole program.
"""

# ruff: noqa: E501 -- the code of a case is one line where it can be

import collections
import dataclasses
import functools
import importlib
import re
import string
import sys
import types
from typing import Any

import torch

MODULES = (
    "abc",
    "ast",
    "bisect",
    "collections",
    "collections.abc",
    "contextlib",
    "contextvars",
    "copy",
    "dataclasses",
    "datetime",
    "decimal",
    "dis",
    "enum",
    "fractions",
    "functools",
    "hashlib",
    "heapq",
    "inspect",
    "io",
    "itertools",
    "json",
    "math",
    "minidynamo",
    "numbers",
    "numpy",
    "operator",
    "os",
    "pathlib",
    "random",
    "re",
    "string",
    "struct",
    "sys",
    "textwrap",
    "threading",
    "time",
    "torch",
    "types",
    "typing",
    "uuid",
    "warnings",
    "weakref",
)

# Fresh for each call. The letters are short so that the tables are.
INPUTS = {
    "x": "torch.tensor([1.0, -2.0, 3.0])",
    "y": "torch.tensor([0.5, 4.0, -1.0])",
    "n": "7",
    "m": "3",
    "neg": "-5",
    "big": "12345678901234567890123",
    "r": "2.5",
    "q": "-0.75",
    "c": "1.5 + 2j",
    "c2": "-1j",
    "s": "'Hello World'",
    "t": "'ab'",
    "b": "b'Hello World'",
    "b2": "b'ab'",
    "ba": "bytearray(b'Hello World')",
    "ba2": "bytearray(b'lo')",
    "mv": "memoryview(bytearray(b'abcd'))",
    "mv2": "memoryview(b'abcd')",
    "l": "[3, 1, 2]",
    "l2": "[1, 2]",
    "lx": "[torch.ones(3), torch.zeros(3)]",
    "words": "['pear', 'fig', 'apple']",
    "p": "(1, 'two', 3.0)",
    "p2": "(1, 'two')",
    "d": "{'a': 1, 'b': 2}",
    "d2": "{'b': 3, 'c': 4}",
    "dx": "{'w': torch.ones(3), 'v': torch.zeros(3)}",
    "e": "{1, 2, 3}",
    "e2": "{3, 4}",
    "fs": "frozenset({1, 2, 3})",
    "fs2": "frozenset({3, 4})",
    "rg": "range(2, 12, 3)",
    "rg2": "range(5)",
    "k": "slice(1, None, 2)",
    "k2": "slice(4)",
    "flag": "True",
    "other": "False",
    "none": "None",
    "fn": "double",
    "obj": "Point(1, 2)",
    "obj2": "Point(2, 1)",
    "od": "collections.OrderedDict(a=1, b=2)",
    "od2": "collections.OrderedDict(b=3)",
    "dd": "collections.defaultdict(list, a=[1])",
    "dd2": "collections.defaultdict(list, b=[2])",
    "dq": "collections.deque([1, 2, 3], 5)",
    "dq2": "collections.deque([3, 4])",
    "cn": "collections.Counter('abca')",
    "cn2": "collections.Counter('ab')",
    "cm": "collections.ChainMap({'a': 1}, {'a': 2, 'b': 3})",
    "cm2": "collections.ChainMap({'c': 4})",
    "ud": "collections.UserDict(a=1, b=2)",
    "ud2": "collections.UserDict(c=3)",
    "ul": "collections.UserList([3, 1, 2])",
    "ul2": "collections.UserList([1])",
    "us": "collections.UserString('Hello World')",
    "us2": "collections.UserString('ab')",
    "ns": "types.SimpleNamespace(a=1, b=2)",
    "ns2": "types.SimpleNamespace(a=1)",
    "mp": "types.MappingProxyType({'a': 1, 'b': 2})",
    "mp2": "types.MappingProxyType({'c': 1})",
    "err": "ValueError('bad', 1)",
    "seq": "torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU())",
    "seq2": "torch.nn.Sequential(torch.nn.Tanh())",
    "ml": "torch.nn.ModuleList([torch.nn.Linear(3, 3), torch.nn.ReLU()])",
    "ml2": "torch.nn.ModuleList([torch.nn.Tanh()])",
    "md": "torch.nn.ModuleDict({'a': torch.nn.Linear(3, 3), 'b': torch.nn.ReLU()})",
    "md2": "torch.nn.ModuleDict({'c': torch.nn.Tanh()})",
    "pl": "torch.nn.ParameterList([torch.ones(3), torch.zeros(3)])",
    "pl2": "torch.nn.ParameterList([torch.ones(3)])",
    "pd": "torch.nn.ParameterDict({'a': torch.ones(3), 'b': torch.zeros(3)})",
    "pd2": "torch.nn.ParameterDict({'c': torch.ones(3)})",
}

# Defined in a program that names them. `attempt` is for the error paths.
HELPERS = {
    "double": "def double(value):\n    return value * 2",
    "attempt": """
def attempt(call, *arguments, **keywords):
    try:
        return call(*arguments, **keywords)
    except Exception as error:
        return type(error).__name__, str(error)
""",
    "run": """
def run(coroutine):
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value
""",
    "Ready": """
class Ready:
    def __init__(self, value):
        self.value = value
    def __await__(self):
        return self.value
        yield
""",
    "Point": """
class Point:
    kind = "point"
    def __init__(self, a, b):
        self.a = a
        self.b = b
    def __repr__(self):
        return f"Point({self.a}, {self.b})"
    def __eq__(self, other):
        return isinstance(other, Point) and (self.a, self.b) == (other.a, other.b)
    def __lt__(self, other):
        return self.a < other.a
    def __hash__(self):
        return hash((self.a, self.b))
    def total(self, scale=1):
        return (self.a + self.b) * scale
""",
    "counting": """
def counting(limit):
    for number in range(limit):
        got = yield number
        if got is not None:
            yield got
""",
}
NOT_APPLICABLE = {
    "CACHE": "room for inline caches behind an instruction, never executed",
    "IMPORT_STAR": "only in the code of a module",
    "PRINT_EXPR": "only at the interactive prompt",
    "__doc__": "a text",
    "__name__": "a text",
    "__package__": "a text",
    "__loader__": "part of the import system",
    "__spec__": "part of the import system",
    "copyright": "for the interactive prompt",
    "credits": "for the interactive prompt",
    "license": "for the interactive prompt",
    "help": "for the interactive prompt",
    "exit": "for the interactive prompt; it closes stdin",
    "quit": "for the interactive prompt; it closes stdin",
    "breakpoint": "starts a debugger",
    "input": "reads from the console",
}

OPCODES = """
POP_TOP  double(x); n
PUSH_NULL  (lambda value: value * 2)(n), double(x)
NOP
    try:
        value = n + 1
    finally:
        other = 2
    value
UNARY_POSITIVE  +neg, +x
UNARY_NEGATIVE  -n, -r, -x
UNARY_NOT  not n, not l, not none
UNARY_INVERT  ~n, ~flag
BINARY_SUBSCR  l[0], d["a"], s[-1], p[1:], x[1], lx[0]
GET_LEN
    match l:
        case [first, *rest]:
            found = first, rest
    found
MATCH_MAPPING
    match d:
        case {"a": 1}:
            found = "one"
        case _:
            found = "none"
    found
MATCH_SEQUENCE
    match p:
        case [1, word, _]:
            found = word
    found
MATCH_KEYS
    match d:
        case {"a": value, "b": 2, **rest}:
            found = value, rest
    found
PUSH_EXC_INFO
    try:
        l[9]
    except IndexError as error:
        found = str(error)
    found
CHECK_EXC_MATCH
    try:
        d["z"]
    except (ValueError, LookupError) as error:
        found = type(error)
    found
CHECK_EG_MATCH
    try:
        raise ExceptionGroup("group", [ValueError(n), TypeError("t")])
    except* ValueError as group:
        found = group.exceptions[0].args
    except* TypeError:
        pass
    found
WITH_EXCEPT_START
    class Swallow:
        def __enter__(self):
            return self
        def __exit__(self, kind, error, traceback):
            self.kind = kind
            return True
    ---
    with Swallow() as swallow:
        l[9]
    swallow.kind
GET_AITER
    async def numbers(limit):
        for number in range(limit):
            yield number
    async def total(limit):
        return [number async for number in numbers(limit)]
    ---
    run(total(m))
GET_ANEXT
    async def numbers(limit):
        for number in range(limit):
            yield number
    async def total(limit):
        found = 0
        async for number in numbers(limit):
            found += number
        return found
    ---
    run(total(m))
BEFORE_ASYNC_WITH
    class Context:
        async def __aenter__(self):
            return self
        async def __aexit__(self, *error):
            self.left = True
    async def use():
        async with Context() as context:
            pass
        return context.left
    ---
    run(use())
BEFORE_WITH
    with contextlib.nullcontext(l) as inside, torch.no_grad():
        z = x + inside[0]
    z
END_ASYNC_FOR
    async def numbers(limit):
        for number in range(limit):
            yield number
    async def total(limit):
        async for number in numbers(limit):
            pass
        return number
    ---
    run(total(m))
STORE_SUBSCR  l[0] = n; d["z"] = x; made = [1, 2]; made[1:] = l; made
DELETE_SUBSCR  del l[0], d["a"]; made = [1, 2, 3]; del made[::2]; made
GET_ITER  [value for value in l] + list(d)
GET_YIELD_FROM_ITER
    def through(values):
        yield from values
        return 5
    ---
    list(through(l)), list(through(counting(m)))
LOAD_BUILD_CLASS
    class Made:
        size = n
    Made.size
LOAD_ASSERTION_ERROR
    try:
        assert n > 100, "too small"
    except AssertionError as error:
        found = str(error)
    found
RETURN_GENERATOR  list(counting(m)), [value for value in (number * 2 for number in l)]
LIST_TO_TUPLE  (*l, *p), (0, *rg)
RETURN_VALUE  double(n)
SETUP_ANNOTATIONS
    class Made:
        size: int = n
    Made.size
YIELD_VALUE
    def pairs(values, tensor):
        for value in values:
            yield value, tensor * value
    ---
    list(pairs(l, x))
ASYNC_GEN_WRAP
    async def numbers(limit):
        for number in range(limit):
            yield number
    async def first(limit):
        return await anext(numbers(limit))
    ---
    run(first(m))
PREP_RERAISE_STAR
    try:
        try:
            raise ExceptionGroup("group", [ValueError(n), TypeError("t")])
        except* ValueError:
            pass
    except ExceptionGroup as group:
        found = group.exceptions
    found
POP_EXCEPT
    found = []
    for value in (1, 0):
        try:
            found.append(n / value)
        except ZeroDivisionError:
            found.append(None)
    found
STORE_NAME
    class Made:
        size = n
        area = size * size
    Made.area
DELETE_NAME
    class Made:
        size = n
        del size
    hasattr(Made, "size")
LOAD_NAME
    class Made:
        size = 2
        area = size * size
    Made.area
UNPACK_SEQUENCE
    first, second, third = l
    left, right = d
    one, two = lx
    first, second, third, left, right, one + two
FOR_ITER
    total = 0
    for value in l:
        total += value
    for index, tensor in enumerate(lx):
        x = x + tensor * index
    total, x
UNPACK_EX
    first, *rest = l
    *start, last = p
    a, *between, z = s
    first, rest, start, last, a, between, z
STORE_ATTR  obj.a = n; obj.tensor = x * 2; made = Point(1, 2); made.a = l; made
DELETE_ATTR  del obj.a; made = Point(1, 2); del made.b; hasattr(obj, "a"), hasattr(made, "b")
STORE_GLOBAL
    counter = 1
    def f(x, n):
        global counter
        counter = counter + n
        return x * counter
DELETE_GLOBAL
    counter = 1
    def f(x, n):
        global counter, made
        made = n
        del made
        return x * counter
SWAP  m < n < 9; first, second = n, m; first, second = second, first; first, second
LOAD_CONST  (1, 2.5, "text", None, ..., b"raw", 3j, frozenset({1}))
BUILD_TUPLE  (n, x, s)
BUILD_LIST  [n, x, s, [], [m]]
BUILD_SET  {n, m, n}
BUILD_MAP  {n: x, s: m}
LOAD_ATTR  obj.a, obj.kind, x.shape, math.pi, c.real
COMPARE_OP  n < m, n <= m, n == m, n != m, n > m, n >= m, s < t, l == l2, x < y, x == 1
IMPORT_NAME
    import math
    import collections.abc
    math.floor(r), collections.abc.Sized.__name__
IMPORT_FROM
    from math import floor, pi as half_turn
    floor(r), half_turn
JUMP_FORWARD
    if n > m:
        found = 1
    else:
        found = 2
    found
JUMP_IF_FALSE_OR_POP  n and s, none and s, (l and d and s)
JUMP_IF_TRUE_OR_POP  n or s, none or s, (none or other or t)
POP_JUMP_FORWARD_IF_FALSE
    found = 0
    if l:
        found = 1
    found
POP_JUMP_FORWARD_IF_TRUE
    found = 0
    if not l:
        found = 1
    found
LOAD_GLOBAL
    SCALE = 3
    ---
    SCALE * n, len(l), x * SCALE
IS_OP  n is None, none is None, obj is obj, obj is not obj2, x is y, l is l
CONTAINS_OP  n in l, 3 in l, "a" in d, "z" not in d, "lo" in s, 2 in rg
RERAISE
    found = []
    try:
        try:
            d["z"]
        finally:
            found.append(1)
    except KeyError as error:
        found.append(error.args)
    found
COPY  first = second = [n]; first is second, m < n < 9
BINARY_OP
    n += 1
    l += [4]
    n + m, n - m, n * m, n / m, n // m, n % m, n ** m, n << m, n >> m, n & m, n | m, n ^ m, l * 2, s + t, x @ y, x + n, n - x, l
SEND
    def inner():
        got = yield 1
        yield got
        return 3
    def outer():
        found = yield from inner()
        yield found
    ---
    generator = outer()
    next(generator), generator.send(n), next(generator)
LOAD_FAST  value = n; value, x
STORE_FAST  value = n; value = x; value
DELETE_FAST
    value = n
    del value
    try:
        value
    except UnboundLocalError as error:
        found = str(error)
    found
POP_JUMP_FORWARD_IF_NOT_NONE
    found = 0
    if none is None:
        found = 1
    found
POP_JUMP_FORWARD_IF_NONE
    found = 0
    if none is not None:
        found = 1
    found
RAISE_VARARGS
    try:
        try:
            raise ValueError(n)
        except ValueError as error:
            raise KeyError("z") from error
    except KeyError as error:
        found = error.args, error.__cause__.args
    found
GET_AWAITABLE
    async def inner(value):
        return await Ready(value)
    async def outer(value):
        return await inner(value) + 1
    ---
    run(outer(n)), run(outer(x))
MAKE_FUNCTION
    def scaled(value, scale=n, *, bias: int = 1):
        return value * scale + bias
    scaled(x), scaled(m, bias=2), scaled.__annotations__
BUILD_SLICE  l[1:], s[::2], x[:m], l[m:n:2]
JUMP_BACKWARD_NO_INTERRUPT
    def through(values):
        yield from values
    ---
    list(through(l))
MAKE_CELL
    value = n
    def inner():
        return value
    inner()
LOAD_CLOSURE
    inner = lambda: n + m
    inner()
LOAD_DEREF
    scale = m
    (lambda value: value * scale)(x)
STORE_DEREF
    total = 0
    def add(value):
        nonlocal total
        total += value
    add(n)
    add(m)
    total
DELETE_DEREF
    value = n
    def inner():
        return value
    before = inner()
    del value
    attempt(inner), before
JUMP_BACKWARD
    total = 0
    for value in l:
        if value == 1:
            continue
        total += value
    total
CALL_FUNCTION_EX  max(*l), dict(**d), double(*[x]), attempt(double, *p2, **d)
LIST_APPEND  [value * 2 for value in l], [tensor + 1 for tensor in lx]
SET_ADD  {value % 2 for value in l}
MAP_ADD  {name: value * 2 for name, value in d.items()}
LOAD_CLASSDEREF
    value = n
    class Made:
        size = value
    Made.size, (lambda: value)()
COPY_FREE_VARS
    scale = m
    def inner(value):
        return value * scale
    inner(x)
RESUME  double(x)
MATCH_CLASS
    match obj:
        case Point(a=1, b=second):
            found = second
    match n:
        case int(value):
            found = found, value
    found
FORMAT_VALUE  f"{n} {r:.2f} {s!r:>20} {l} {n:0{m}d} {n=}"
BUILD_CONST_KEY_MAP  {"a": n, "b": x}
BUILD_STRING  f"{n}-{s}-{r}"
LOAD_METHOD  s.upper(), l.index(1), obj.total(), x.sum()
LIST_EXTEND  [*l, *p, 4]
SET_UPDATE  {*l, *e2}
DICT_MERGE  dict(**d, **{"z": n})
DICT_MERGE (the same keyword twice)  attempt(lambda: dict(**d, **d2))
DICT_UPDATE  {**d, **d2, "z": x}
PRECALL  len(l), double(n)
CALL  len(l), double(value=n), obj.total(scale=2), Point(1, n)
KW_NAMES  double(value=x), sorted(l, reverse=True), obj.total(scale=m)
POP_JUMP_BACKWARD_IF_NOT_NONE
    count, value = 0, n
    while value is not None:
        count += 1
        value = None
    count
POP_JUMP_BACKWARD_IF_NONE
    count, value = 0, None
    while value is None:
        count += 1
        value = n
    count
POP_JUMP_BACKWARD_IF_FALSE
    count = 0
    while not count > n:
        count += 2
    count
POP_JUMP_BACKWARD_IF_TRUE
    count = 0
    while count < n:
        count += 2
    count
"""
OPCODES += "EXTENDED_ARG  if flag:\n        total = " + " +\\\n            ".join(f"n * {index}" for index in range(300)) + "\n    total\n"

BUILTINS = """
Ellipsis  ..., Ellipsis is ..., x[..., 0]
False  False, bool(n) is False
None  None, none is None
NotImplemented  NotImplemented, n.__add__(s) is NotImplemented
True  True, bool(n) is True
__build_class__  __build_class__(lambda: None, "Made").__name__
__debug__  1 if __debug__ else 2
__import__  __import__("math").floor(r)
abs  abs(neg), abs(q), abs(c), abs(x), attempt(abs, s)
aiter
    async def numbers():
        yield 1
    ---
    type(aiter(numbers())).__name__, attempt(aiter, l)
all  all(l), all([]), all(value > 1 for value in l), attempt(all, n)
anext
    async def numbers(value):
        yield value
    async def first(value):
        return await anext(numbers(value))
    ---
    run(first(n)), attempt(anext, l)
any  any(l), any([]), any(value > 2 for value in l), attempt(any, n)
ascii  ascii(s), ascii("é"), ascii(l)
bin  bin(n), bin(neg), attempt(bin, r)
bool  bool(n), bool(l), bool(), bool(none), bool(""), bool(d)
bytearray  bytearray(b2), bytearray(m), bytearray(t, "utf-8"), bytearray(l), attempt(bytearray, [300])
bytes  bytes(l), bytes(m), bytes(t, "utf-8"), bytes(ba), attempt(bytes, t)
callable  callable(fn), callable(n), callable(obj), callable(Point)
chr  chr(65 + n), attempt(chr, neg)
classmethod
    class Local:
        size = 4
        @classmethod
        def make(cls, n):
            return cls.size * n
    ---
    Local.make(n), Local().make(m)
compile  compile("1 + 1", "<text>", "eval").co_consts
complex  complex(n, m), complex(r), complex("1+2j"), complex(), attempt(complex, s)
delattr  delattr(obj, "a"); made = Point(1, 2); delattr(made, "b"); hasattr(obj, "a"), attempt(delattr, obj, "z")
dict  dict(), dict(d), dict(a=n, w=x), dict([("k", n)]), dict(zip(s, l)), dict(d, z=1), attempt(dict, n)
dir  sorted(name for name in dir(obj) if not name.startswith("_"))
divmod  divmod(n, m), divmod(neg, m), divmod(r, m), attempt(divmod, n, 0)
enumerate  list(enumerate(l)), list(enumerate(s, start=n)), [tensor * index for index, tensor in enumerate(lx, 1)], attempt(enumerate, n)
eval  eval("n + 1", {"n": n})
exec
    space = {"n": n}
    exec("value = n + 1", space)
    space["value"]
filter  list(filter(None, [0, n])), list(filter(lambda value: value > 1, l)), attempt(filter, n)
float  float(n), float("1.5"), float(flag), float(), float("-inf"), attempt(float, s)
format  format(n), format(r, ".3f"), format(s, ">20"), format(n, "#x"), format(n, ","), attempt(format, n, "q")
frozenset  frozenset(l), frozenset(), frozenset(fs), attempt(frozenset, n)
getattr  getattr(obj, "a"), getattr(obj, "z", n), getattr(x, "ndim"), getattr(l, "index")(1), attempt(getattr, obj, "z")
globals  "f" in globals()
hasattr  hasattr(obj, "a"), hasattr(obj, "z"), hasattr(x, "shape"), hasattr(n, "real"), attempt(hasattr, obj, n)
hash (of a function from outside)  hash(fn) == hash(fn), attempt(hash, fn) is not None
hash  hash(n), hash(r) == hash(2.5), hash(p) == hash((1, "two", 3.0)), hash(obj), hash(s) == hash("Hello World"), attempt(hash, l)
hex  hex(n), hex(neg), attempt(hex, r)
id  id(obj) == id(obj), id(l) != id(l2)
int  int(r), int("12"), int("ff", 16), int(), int(flag), attempt(int, s), attempt(int, none)
isinstance  isinstance(n, int), isinstance(s, (int, str)), isinstance(x, torch.Tensor), isinstance(obj, Point), isinstance(none, int | None)
issubclass  issubclass(bool, int), issubclass(Point, object), issubclass(int, (str, float)), attempt(issubclass, n, int)
iter  list(iter(l)), next(iter(d)), list(iter(iter([1, 2, 3]).__next__, 3)), attempt(iter, n)
len  len(l), len(s), len(d), len(e), len(x), len(rg), attempt(len, n)
list  list(), list(p), list(s), list(d), list(rg), list(x.shape), list(map(double, lx)), attempt(list, n)
locals  sorted(locals())
map  list(map(double, l)), list(map(lambda a, z: a + z, l, rg)), list(map(str, l)), [value for value in map(double, lx)], attempt(map, n)
max  max(l), max(n, m), max(words, key=len), max([], default=n), max(r, n), attempt(max, [])
memoryview  memoryview(b2).tobytes(), bytes(memoryview(ba)[1:]), attempt(memoryview, s)
min  min(l), min(n, m), min(words, key=len), min([], default=n), min(d), attempt(min, [])
next
    made = iter(l)
    first = next(made)
    generator = counting(m)
    first, next(made), next(iter([]), n), next(generator), next(generator), attempt(next, iter([])), attempt(next, l)
object  isinstance(object(), object), type(object()) is object, attempt(object, n)
oct  oct(n), oct(neg), attempt(oct, r)
open
    with open("/dev/null") as file:
        text = file.read()
    text
ord  ord("a"), ord(b"a"), attempt(ord, s)
pow  pow(n, m), pow(n, m, 5), pow(r, m), pow(x, 2), pow(neg, 0.5), attempt(pow, s, 2)
print  print("text", n, sep="-")
property
    class Local:
        def __init__(self, side):
            self.side = side
        @property
        def area(self):
            return self.side * self.side
        @area.setter
        def area(self, value):
            self.side = value // 4
    ---
    made = Local(n)
    made.area = 16
    made.area, made.side, attempt(setattr, made, "area", "no")
range  list(range(m)), list(range(m, n)), range(n, 0, -2)[1], [x * step for step in range(2)], attempt(range, r), attempt(range, 1, 2, 0)
repr  repr(n), repr(s), repr(l), repr(d), repr(obj), repr(r), repr(none), repr(p)
reversed  list(reversed(l)), list(reversed(s)), list(reversed(d)), list(reversed(rg)), list(reversed(lx)), attempt(reversed, e)
round  round(r), round(2.567, 2), round(n, -1), round(q), attempt(round, s)
set  set(), set(l), {*set(s)} == set("Hello World"), set(d), attempt(set, n), attempt(set, [l])
setattr  setattr(obj, "a", n); made = Point(1, 2); setattr(made, "w", x); made.w, attempt(setattr, n, "a", 1), attempt(setattr, obj, n, 1)
slice  l[slice(1)], slice(n).stop, slice(1, n, m), x[slice(0, 2)], attempt(slice)
sorted  sorted(l), sorted(words, key=len), sorted(l, reverse=True), sorted(d), sorted([obj, obj2]), attempt(sorted, [1, "a"])
staticmethod
    class Local:
        @staticmethod
        def make(n):
            return n * 2
    ---
    Local.make(n), Local().make(x)
staticmethod (made inside)  staticmethod(double)(n)
str  str(n), str(r), str(), str(b2, "utf-8"), str(l), str(obj), str(none), str(object=n), attempt(str, b"\\xff", "utf-8")
sum  sum(l), sum(l, n), sum([l, [4]], []), sum(lx), sum(value * 2 for value in l), attempt(sum, [t]), attempt(sum, n)
super
    class Base:
        def size(self, n):
            return n + 1
    class Derived(Base):
        def size(self, n):
            return super().size(n) * 2 + super(Derived, self).size(0)
    ---
    Derived().size(n), attempt(super(Derived, Derived()).size)
tuple  tuple(), tuple(l), tuple(s), tuple(d), tuple(value for value in l), attempt(tuple, n)
type  type(n), type(obj) is Point, type(x), type(none), type(fn).__name__
type (with three arguments)  type("Made", (), {"size": n}).size
vars  sorted(vars(obj)), vars(obj)["a"]
zip  list(zip(l, s)), dict(zip(s, l)), list(zip()), [a * z for a, z in zip(lx, l)], attempt(lambda: list(zip(l, l2, strict=True)))
"""

EXCEPTION = """\
try:
    raise $E("bad", n)
except $E as error:
    found = error
type(found), found.args, str(found), repr(found), isinstance(found, Exception), $E.__mro__[1].__name__
"""

EXCEPTIONS = """
AttributeError
    try:
        obj.missing
    except AttributeError as error:
        found = error.args, error.name, error.obj is obj
    found, attempt(getattr, n, "missing"), AttributeError("text", name="n").name
BaseExceptionGroup
    try:
        raise BaseExceptionGroup("group", [ValueError(n), KeyboardInterrupt()])
    except BaseExceptionGroup as error:
        found = error
    found.message, [type(part) for part in found.exceptions], str(found)
ExceptionGroup
    try:
        raise ExceptionGroup("group", [ValueError(n), TypeError(s)])
    except ExceptionGroup as error:
        found = error
    found.message, [part.args for part in found.exceptions], str(found), attempt(ExceptionGroup, "empty", [])
FileNotFoundError
    error = FileNotFoundError(2, "missing", "name")
    error.errno, error.strerror, error.filename, str(error), type(OSError(2, "missing"))
ImportError
    error = ImportError("bad", name="module", path="place")
    error.name, error.path, str(error)
ImportWarning  isinstance(ImportWarning("bad"), Warning), str(ImportWarning(n))
IndentationError  str(IndentationError("bad", ("file", 3, 4, "text"))), IndentationError().lineno
IndexError  attempt(lambda: l[n]), attempt(lambda: p[n]), attempt(lambda: s[99]), str(IndexError("bad"))
KeyError  attempt(lambda: d["z"]), str(KeyError("z")), KeyError(n).args
NameError
    def f(x):
        first = x * 2
        try:
            missing
        except NameError as error:
            return str(error), error.name, first
StopAsyncIteration  StopAsyncIteration(n).args, str(StopAsyncIteration(n))
StopIteration
    def generator(value):
        yield 1
        return value
    ---
    made = generator(n)
    next(made)
    try:
        next(made)
    except StopIteration as stop:
        found = stop.value
    found, StopIteration(m).value, StopIteration().value
SyntaxError
    error = SyntaxError("bad", ("file", 3, 4, "text"))
    error.lineno, error.filename, error.offset, error.text, error.msg
SystemExit
    try:
        raise SystemExit(n)
    except SystemExit as error:
        found = error.code
    found
TabError  str(TabError("bad", ("file", 3, 4, "text"))), isinstance(TabError(), SyntaxError)
TypeError  attempt(len, n), attempt(double), attempt(double, n, m), attempt(lambda: n + s), attempt(lambda: n())
UnboundLocalError
    try:
        if n > 100:
            value = 1
        value
    except UnboundLocalError as error:
        found = str(error)
    found
UnicodeDecodeError
    error = UnicodeDecodeError("utf-8", b"ab", 0, 1, "bad")
    error.start, error.end, error.reason, str(error), attempt(b"\\xff".decode)
UnicodeEncodeError
    error = UnicodeEncodeError("ascii", "ab", 0, 1, "bad")
    error.start, error.end, error.reason, str(error), attempt("é".encode, "ascii")
UnicodeTranslateError
    error = UnicodeTranslateError("ab", 0, 1, "bad")
    error.start, error.end, error.reason, str(error)
ValueError  attempt(int, s), attempt(l.index, n), attempt(l.remove, n), str(ValueError("bad")), ValueError().args
ZeroDivisionError  attempt(lambda: n / 0), attempt(lambda: r // 0), attempt(lambda: n % 0), attempt(divmod, n, 0)
"""


@dataclasses.dataclass(frozen=True)
class Values:
    """A type whose methods have cases: how to write it, and two values of it."""

    type: type[Any]
    expression: str
    first: str
    second: str


def _of(kind: type[Any], expression: str, first: str, second: str) -> tuple[str, Values]:
    return expression, Values(kind, expression, first, second)


TYPES = dict(
    (
        _of(bool, "bool", "flag", "other"),
        _of(int, "int", "n", "m"),
        _of(float, "float", "r", "q"),
        _of(complex, "complex", "c", "c2"),
        _of(str, "str", "s", "t"),
        _of(bytes, "bytes", "b", "b2"),
        _of(bytearray, "bytearray", "bytearray(b)", "bytearray(b2)"),
        _of(memoryview, "memoryview", "memoryview(b)", "memoryview(b2)"),
        _of(list, "list", "l", "l2"),
        _of(tuple, "tuple", "p", "p2"),
        _of(dict, "dict", "d", "d2"),
        _of(set, "set", "e", "e2"),
        _of(frozenset, "frozenset", "fs", "fs2"),
        _of(range, "range", "rg", "rg2"),
        _of(slice, "slice", "k", "k2"),
        _of(object, "object", "obj", "obj2"),
        _of(type, "type", "Point", "int"),
        _of(super, "super", "super(Derived, obj)", "None"),
        _of(property, "property", "Local.__dict__['area']", "None"),
        _of(classmethod, "classmethod", "Local.__dict__['make']", "None"),
        _of(staticmethod, "staticmethod", "Local.__dict__['plain']", "None"),
        _of(enumerate, "enumerate", "enumerate(l)", "None"),
        _of(zip, "zip", "zip(l, s)", "None"),
        _of(map, "map", "map(str, l)", "None"),
        _of(filter, "filter", "filter(None, l)", "None"),
        _of(reversed, "reversed", "reversed(l)", "None"),
        _of(BaseException, "BaseException", "ValueError(n)", "None"),
        _of(BaseExceptionGroup, "BaseExceptionGroup", "ExceptionGroup('g', [err])", "None"),
        _of(types.FunctionType, "types.FunctionType", "fn", "attempt"),
        _of(types.MethodType, "types.MethodType", "obj.total", "obj2.total"),
        _of(types.BuiltinFunctionType, "types.BuiltinFunctionType", "l.index", "l.count"),
        _of(types.GeneratorType, "types.GeneratorType", "counting(m)", "None"),
        _of(types.CoroutineType, "types.CoroutineType", "waiting(m)", "None"),
        _of(types.CellType, "types.CellType", "types.CellType(n)", "types.CellType(m)"),
        _of(types.MappingProxyType, "types.MappingProxyType", "types.MappingProxyType(d)", "types.MappingProxyType(d2)"),
        _of(types.SimpleNamespace, "types.SimpleNamespace", "types.SimpleNamespace(a=n, b=2)", "types.SimpleNamespace(a=m)"),
        _of(types.GenericAlias, "types.GenericAlias", "list[int]", "dict[str, int]"),
        _of(types.UnionType, "types.UnionType", "(int | str)", "(int | None)"),
        _of(type({}.keys()), "dict_keys", "d.keys()", "d2.keys()"),
        _of(type({}.values()), "dict_values", "d.values()", "d2.values()"),
        _of(type({}.items()), "dict_items", "d.items()", "d2.items()"),
        _of(collections.OrderedDict, "collections.OrderedDict", "od", "od2"),
        _of(collections.defaultdict, "collections.defaultdict", "dd", "dd2"),
        _of(collections.deque, "collections.deque", "dq", "dq2"),
        _of(collections.Counter, "collections.Counter", "cn", "cn2"),
        _of(collections.ChainMap, "collections.ChainMap", "cm", "cm2"),
        _of(collections.UserDict, "collections.UserDict", "ud", "ud2"),
        _of(collections.UserList, "collections.UserList", "ul", "ul2"),
        _of(functools.partial, "functools.partial", "functools.partial(attempt, int)", "None"),
        _of(torch.nn.Sequential, "torch.nn.Sequential", "seq", "seq2"),
        _of(torch.nn.ModuleList, "torch.nn.ModuleList", "ml", "ml2"),
        _of(torch.nn.ModuleDict, "torch.nn.ModuleDict", "md", "md2"),
        _of(torch.nn.ParameterList, "torch.nn.ParameterList", "pl", "pl2"),
        _of(torch.nn.ParameterDict, "torch.nn.ParameterDict", "pd", "pd2"),
    )
)

# For every type above that defines the method: $T is the type, $v and $w are two values.
SPECIAL = """
__new__  $T.__new__($T), $T(), attempt($T, 1, 2, 3, 4, 5)
__repr__  repr($v), attempt($v.__repr__), f"{$v!r}"
__str__  str($v), $v.__str__(), f"{$v}"
__hash__  attempt(hash, $v), attempt(hash, ($v, 1)) == attempt(hash, ($v, 1))
__getattribute__  $v.__getattribute__("__class__") is $T, attempt(getattr, $v, "missing"), attempt($v.__getattribute__, "missing")
__lt__  attempt($v.__lt__, $w), attempt(lambda: $v < $w), attempt(lambda: $v < None)
__le__  attempt($v.__le__, $w), attempt(lambda: $v <= $w), attempt(lambda: $v <= None)
__eq__  $v == $w, $v.__eq__($w), $v == None, $v == $v
__ne__  $v != $w, $v.__ne__($w), $v != None, $v != $v
__gt__  attempt($v.__gt__, $w), attempt(lambda: $v > $w), attempt(lambda: $v > None)
__ge__  attempt($v.__ge__, $w), attempt(lambda: $v >= $w), attempt(lambda: $v >= None)
__add__  $v + $w, $v.__add__($w), attempt(lambda: $v + None)
__radd__  $v.__radd__($w), attempt(lambda: None + $v)
__sub__  $v - $w, $v.__sub__($w), attempt(lambda: $v - None)
__rsub__  $v.__rsub__($w), attempt(lambda: None - $v)
__mul__  attempt(lambda: $v * 2), attempt(lambda: $v * None)
__rmul__  attempt(lambda: 2 * $v), attempt(lambda: None * $v)
__mod__  $v % $w, $v.__mod__($w), attempt(lambda: $v % 0)
__rmod__  attempt($v.__rmod__, $w), attempt(lambda: None % $v)
__divmod__  divmod($v, $w), $v.__divmod__($w), attempt(divmod, $v, 0)
__rdivmod__  $v.__rdivmod__($w), attempt(divmod, None, $v)
__pow__  $v ** 2, $v.__pow__(3), 2 ** $v, attempt(lambda: $v ** None)
__rpow__  $v.__rpow__(2), attempt(lambda: None ** $v)
__neg__  -$v, $v.__neg__()
__pos__  +$v, $v.__pos__()
__abs__  abs($v), $v.__abs__()
__bool__  bool($v), $v.__bool__(), (1 if $v else 2), not $v
__invert__  ~$v, $v.__invert__()
__lshift__  $v << $w, $v.__lshift__($w), attempt(lambda: $v << -1)
__rlshift__  $v.__rlshift__($w), attempt(lambda: None << $v)
__rshift__  $v >> $w, $v.__rshift__($w), attempt(lambda: $v >> None)
__rrshift__  $v.__rrshift__($w), attempt(lambda: None >> $v)
__and__  $v & $w, $v.__and__($w), attempt(lambda: $v & 1.5)
__rand__  $v.__rand__($w), attempt(lambda: 1.5 & $v)
__xor__  $v ^ $w, $v.__xor__($w), attempt(lambda: $v ^ 1.5)
__rxor__  $v.__rxor__($w), attempt(lambda: 1.5 ^ $v)
__or__  $v | $w, $v.__or__($w), attempt(lambda: $v | 1.5)
__ror__  $v.__ror__($w), attempt(lambda: 1.5 | $v)
__int__  int($v), $v.__int__()
__float__  float($v), $v.__float__()
__floordiv__  $v // $w, $v.__floordiv__($w), attempt(lambda: $v // 0)
__rfloordiv__  $v.__rfloordiv__($w), attempt(lambda: None // $v)
__truediv__  $v / $w, $v.__truediv__($w), attempt(lambda: $v / 0)
__rtruediv__  $v.__rtruediv__($w), attempt(lambda: None / $v)
__index__  operator.index($v), $v.__index__(), list(range(9))[$v]
__trunc__  math.trunc($v), $v.__trunc__()
__floor__  math.floor($v), $v.__floor__()
__ceil__  math.ceil($v), $v.__ceil__()
__round__  round($v), round($v, 1), $v.__round__()
__complex__  complex($v), $v.__complex__()
__format__  format($v), f"{$v:>30}", $v.__format__(""), attempt(format, $v, "zz")
__iter__  list(iter($v)), [value for value in $v], next($v.__iter__())
__next__  next($v), $v.__next__(), attempt(next, $v)
__len__  len($v), $v.__len__(), (1 if $v else 2)
__contains__  $v.__contains__("a"), attempt(lambda: "a" in $v), attempt(lambda: 1 not in $v)
__iadd__  $v += $w; $v
__isub__  $v -= $w; $v
__imul__  $v *= 2; $v
__iand__  $v &= $w; $v
__ior__  $v |= $w; $v
__ixor__  $v ^= $w; $v
__reversed__  list(reversed($v)), next($v.__reversed__())
__sizeof__  $v.__sizeof__()
__reduce__  $v.__reduce__()
__reduce_ex__  $v.__reduce_ex__(2)
__getnewargs__  $v.__getnewargs__()
__copy__  copy.copy($v), $v.__copy__()
copy  $v.copy()
clear  $v.clear(); $v, len($v)
__class_getitem__  $T[int]
__doc__  type($T.__doc__).__name__, $v.__doc__ == $T.__doc__
__module__  $T.__module__, $v.__module__
__dict__  type($T.__dict__).__name__, $v.__dict__
__weakref__  $v.__weakref__
__annotations__  attempt(getattr, $T, "__annotations__")
__dir__  len($v.__dir__()) > 9
__wrapped__  $v.__wrapped__.__name__
__func__  $v.__func__.__name__
__isabstractmethod__  $v.__isabstractmethod__
__init__  made = $T(); made.__init__(); made
"""

_STRINGS = """
capitalize  $v.capitalize(), $w.capitalize()
center  $v.center(20), $v.center(20, $star), $v.center(3), attempt($v.center)
count  $v.count($o), $v.count($o, 5), $v.count($empty), attempt($v.count, 1.5)
endswith  $v.endswith($tail), $v.endswith(($tail, $o)), $v.endswith($o, 0, 5), attempt($v.endswith, 1)
expandtabs  $tabs.expandtabs(), $tabs.expandtabs(3)
find  $v.find($o), $v.find($o, 5), $v.find($star), $v.find($o, 5, 6)
index  $v.index($o), $v.index($o, 5), attempt($v.index, $star)
isalnum  $v.isalnum(), $w.isalnum(), $empty.isalnum()
isalpha  $v.isalpha(), $w.isalpha(), $empty.isalpha()
isascii  $v.isascii(), $empty.isascii()
isdigit  $v.isdigit(), $digits.isdigit()
islower  $v.islower(), $w.islower()
isspace  $v.isspace(), $blank.isspace()
istitle  $v.istitle(), $w.istitle()
isupper  $v.isupper(), $w.upper().isupper()
join  $star.join([$v, $w]), $empty.join(part for part in ($v, $w)), $star.join([]), attempt($star.join, [1])
ljust  $v.ljust(20), $v.ljust(20, $star)
lower  $v.lower()
lstrip  $padded.lstrip(), $v.lstrip($o), $padded.lstrip(None)
maketrans  $T.maketrans($o, $star), attempt($T.maketrans, $o, $empty)
partition  $v.partition($blank), $v.partition($star), attempt($v.partition, $empty)
removeprefix  $v.removeprefix($head), $v.removeprefix($star)
removesuffix  $v.removesuffix($tail), $v.removesuffix($star)
replace  $v.replace($o, $star), $v.replace($o, $star, 1), attempt($v.replace, $o)
rfind  $v.rfind($o), $v.rfind($star), $v.rfind($o, 0, 5)
rindex  $v.rindex($o), attempt($v.rindex, $star)
rjust  $v.rjust(20), $v.rjust(20, $star)
rpartition  $v.rpartition($blank), $v.rpartition($star)
rsplit  $v.rsplit(), $v.rsplit($o, 1), attempt($v.rsplit, $empty)
rstrip  $padded.rstrip(), $v.rstrip($tail)
split  $v.split(), $v.split($o), $v.split($o, 1), $v.split(maxsplit=0), attempt($v.split, $empty)
splitlines  $lines.splitlines(), $lines.splitlines(keepends=True)
startswith  $v.startswith($head), $v.startswith(($head, $o)), $v.startswith($o, 4), attempt($v.startswith, 1)
strip  $padded.strip(), $v.strip($head), $v.strip($star)
swapcase  $v.swapcase()
title  $v.title(), $w.title()
translate  $v.translate($T.maketrans($o, $star)), attempt($v.translate, 1)
upper  $v.upper(), $w.upper()
zfill  $v.zfill(20), $digits.zfill(6), $signed.zfill(6)
"""


def _strings(kind: str, first: str, second: str, prefix: str) -> str:
    """The methods that str, bytes and bytearray share."""

    def literal(text: str) -> str:
        return f"bytearray(b'{text}')" if kind == "bytearray" else f"{prefix}'{text}'"

    texts = {
        "star": f"{prefix}'*'",
        "o": literal("o"),
        "empty": literal(""),
        "tail": f"{prefix}'ld'",
        "head": f"{prefix}'He'",
        "digits": literal("042"),
        "blank": f"{prefix}' '",
        "padded": literal("  ab "),
        "signed": literal("-42"),
        "tabs": literal("a\\tbc\\td"),
        "lines": literal("a\\nb\\r\\nc"),
    }
    # The character to split at must not be a bytearray where only bytes are hashable or comparable in a tuple.
    return string.Template(_STRINGS).substitute(T=kind, v=first, w=second, **texts)


def _sets(first: str, second: str) -> str:
    """The methods that set and frozenset share."""
    text = """
copy  $v.copy(), $v.copy() is $v
difference  $v.difference($w), $v.difference([1], rg), $v.difference()
intersection  $v.intersection($w), $v.intersection([1, 2], rg), attempt($v.intersection, n)
isdisjoint  $v.isdisjoint($w), $v.isdisjoint([9])
issubset  $v.issubset($w), $v.issubset(range(9)), $v <= $w, $v < $w
issuperset  $v.issuperset($w), $v.issuperset([1]), $v >= $w
symmetric_difference  $v.symmetric_difference($w), $v.symmetric_difference([1, 9])
union  $v.union($w), $v.union([9], rg), attempt($v.union, n)
__contains__  2 in $v, 9 in $v, n not in $v, $v.__contains__(1), attempt(lambda: [] in $v)
__iter__  sorted($v), [value for value in sorted($v)], sum(value for value in $v)
__reduce__  $v.__reduce__()[0]
"""
    return string.Template(text).substitute(v=first, w=second)


METHODS = {
    "bool": """
__new__  bool.__new__(bool, n), bool(l), bool(), attempt(bool, 1, 2)
""",
    "int": """
__new__  int.__new__(int, r), int("12", base=8), int(b"3"), attempt(int, "z")
__pow__  n ** m, n.__pow__(m), pow(n, m, 5), n ** -1, 2 ** 100, attempt(lambda: 0 ** -1)
__round__  round(n), round(n, -1), n.__round__()
__format__  format(n), f"{n:05d} {n:x} {n:#b} {big:,} {n:+} {n:e}", attempt(format, n, "zz")
bit_length  n.bit_length(), big.bit_length(), neg.bit_length()
bit_count  n.bit_count(), big.bit_count()
conjugate  n.conjugate()
to_bytes  n.to_bytes(2, "big"), n.to_bytes(), neg.to_bytes(2, "little", signed=True), attempt(neg.to_bytes, 2, "big")
from_bytes  int.from_bytes(b2, "big"), int.from_bytes(l, "little"), int.from_bytes(b2, "big", signed=True)
as_integer_ratio  n.as_integer_ratio()
real  n.real, big.real
imag  n.imag
numerator  n.numerator
denominator  n.denominator
""",
    "float": """
__new__  float.__new__(float, n), float("nan") != float("nan"), float("1e3"), attempt(float, "z")
__pow__  r ** 2, r.__pow__(m), q ** 0.5, attempt(lambda: 0.0 ** -1)
__round__  round(r), round(r, 1), r.__round__(), attempt(round, math.inf)
__format__  format(r), f"{r:.3f} {r:e} {r:g} {r:%} {r:>10} {r:+.1f}", attempt(format, r, "d")
__getformat__  float.__getformat__("double")
as_integer_ratio  r.as_integer_ratio(), attempt(math.inf.as_integer_ratio)
conjugate  r.conjugate()
fromhex  float.fromhex("0x1.8p1"), attempt(float.fromhex, "z")
hex  r.hex(), q.hex()
is_integer  r.is_integer(), (r * 2).is_integer()
real  r.real
imag  r.imag
""",
    "complex": """
__new__  complex.__new__(complex, n, m), complex("1+2j"), attempt(complex, "z")
__format__  format(c), f"{c:.2f}", attempt(format, c, "d")
conjugate  c.conjugate()
real  c.real
imag  c.imag
""",
    "str": _strings("str", "s", "t", "")
    + """
__new__  str.__new__(str, n), str(b2, "ascii"), str(), attempt(str, b2, n)
__getitem__  s[0], s[-1], s[2:5], s[::-1], s[n], attempt(lambda: s[99]), attempt(lambda: s["a"])
__contains__  "lo" in s, t in s, "z" not in s, attempt(lambda: n in s)
__mul__  t * m, t * 0, attempt(lambda: t * r)
__rmul__  m * t, t.__rmul__(2)
__mod__  "%d %s %r" % (n, s, t), "%5.2f|%-8s|%x" % (r, t, n), "%(a)s" % d, "%%", attempt(lambda: "%d" % s), attempt(lambda: "%d" % (1, 2))
__iter__  list(s), [letter for letter in t], next(iter(t))
__format__  format(s, ">20"), f"{t:*^9}|{t:5}|{s:.3}", attempt(format, s, "d")
casefold  s.casefold(), "Straße".casefold()
encode  s.encode(), s.encode("utf-16-le"), "é".encode("ascii", "replace"), attempt("é".encode, "ascii")
format  "{} {!r} {:>5}".format(n, s, t), "{a} {0[1]} {1.a}".format(l, obj, a=n), attempt("{}".format)
format_map  "{a} {b}".format_map(d), attempt("{z}".format_map, d)
isdecimal  s.isdecimal(), "42".isdecimal()
isidentifier  s.isidentifier(), t.isidentifier()
isnumeric  s.isnumeric(), "½".isnumeric()
isprintable  s.isprintable(), "\\n".isprintable()
maketrans (all forms)  str.maketrans({"a": "b"}), str.maketrans("ab", "cd", "e"), attempt(str.maketrans, "a", "")
""",
    "bytes": _strings("bytes", "b", "b2", "b")
    + """
__new__  bytes.__new__(bytes, l), bytes(t, "utf-8"), bytes(m), attempt(bytes, [300])
__bytes__  bytes(b), b.__bytes__()
__getitem__  b[0], b[-1], b[2:5], b[::-1], attempt(lambda: b[99])
__contains__  b2 in b, 72 in b, attempt(lambda: t in b)
__mul__  b2 * m, b2 * 0
__rmul__  m * b2
__mod__  b"%d %s" % (n, b2), b"%x" % n, attempt(lambda: b"%d" % b2)
__iter__  list(b2), [byte for byte in b2]
decode  b.decode(), b.decode("ascii"), b"\\xff".decode("utf-8", "replace"), attempt(b"\\xff".decode)
fromhex  bytes.fromhex("ff 00"), attempt(bytes.fromhex, "z")
hex  b2.hex(), b.hex(" ", 2)
""",
    "bytearray": _strings("bytearray", "bytearray(b)", "bytearray(b2)", "b")
    + """
__new__  bytearray.__new__(bytearray), bytearray(l), bytearray(m)
__init__  made = bytearray(b); made.__init__(b2); made
__getitem__  made = bytearray(b); made[0], made[1:3], attempt(lambda: made[99])
__getitem__ (from outside)  ba[0], ba[1:3]
__setitem__
    made = bytearray(b"abc")
    made[1] = 66
    made[2:] = b2
    made, attempt(made.__setitem__, 9, 1), attempt(made.__setitem__, 0, 300)
__setitem__ (from outside)  ba[0] = 65; ba[2:] = b"xy"; ba
__delitem__  made = bytearray(b"abc"); del made[1:]; made
__delitem__ (from outside)  del ba[0]; ba
__contains__  b2 in bytearray(b), 72 in bytearray(b), attempt(lambda: t in bytearray(b))
__contains__ (from outside)  ba2 in ba, 72 in ba
__mul__  bytearray(b) * 2
__rmul__  2 * bytearray(b)
__iadd__  made = bytearray(b); made += b2; made
__iadd__ (from outside)  ba += ba2; ba
__imul__  made = bytearray(b2); made *= 2; made
__mod__  bytearray(b"%d") % n
__iter__  list(bytearray(b2)), [byte for byte in bytearray(b2)]
__iter__ (from outside)  list(ba), [byte for byte in ba]
__len__ (from outside)  len(ba)
__eq__ (from outside)  ba == ba2, ba == b
__alloc__  type(bytearray(b).__alloc__())
__hash__  attempt(hash, bytearray(b))
__sizeof__  type(bytearray(b).__sizeof__())
append  made = bytearray(); made.append(66); made, attempt(made.append, 300)
append (from outside)  ba.append(65); ba
clear  made = bytearray(b"a"); made.clear(); made
clear (from outside)  ba.clear(); ba
copy  bytearray(b).copy()
decode  bytearray(b).decode(), attempt(bytearray(b"\\xff").decode)
decode (from outside)  ba.decode()
extend  made = bytearray(b); made.extend([1, 2]); made
extend (from outside)  ba.extend(b2); ba
fromhex  bytearray.fromhex("ff00")
hex  bytearray(b).hex(), bytearray(b).hex("-")
insert  made = bytearray(b"ac"); made.insert(1, 66); made
insert (from outside)  ba.insert(1, 65); ba
pop  bytearray(b).pop(), bytearray(b).pop(0), attempt(bytearray().pop)
pop (from outside)  ba.pop(), ba.pop(0)
remove  made = bytearray(b"abc"); made.remove(98); made, attempt(made.remove, 98)
remove (from outside)  ba.remove(72); ba
reverse  made = bytearray(b"abc"); made.reverse(); made
reverse (from outside)  ba.reverse(); ba
upper (from outside)  ba.upper()
""",
    "memoryview": """
__new__  memoryview.__new__(memoryview, b2).tobytes(), memoryview(ba)[0], attempt(memoryview, s)
__repr__  type(repr(memoryview(b2)))
__hash__  hash(memoryview(b2)) == hash(b"ab"), attempt(hash, memoryview(bytearray(b)))
__iter__  [byte for byte in memoryview(b2)]
__iter__ (from outside)  list(mv)
__getitem__  memoryview(b2)[0], memoryview(b)[1:3].tobytes(), attempt(lambda: memoryview(b2)[99])
__getitem__ (from outside)  mv[0], mv[1:3].tobytes()
__setitem__  made = memoryview(bytearray(b"abc")); made[1] = 66; made.tobytes(), attempt(memoryview(b2).__setitem__, 0, 1)
__setitem__ (from outside)  mv[0] = 65; mv.tobytes()
__delitem__  attempt(operator.delitem, memoryview(b), 0)
__len__  len(memoryview(b2))
__len__ (from outside)  len(mv)
__enter__
    with memoryview(b2) as view:
        found = view[0]
    found
__exit__
    with memoryview(b2) as view:
        found = view[0]
    found, attempt(len, view)
__exit__ (from outside)
    with mv as view:
        found = view[0]
    found, attempt(len, mv)
release  made = memoryview(b2); made.release(); attempt(lambda: made[0])
release (from outside)  mv.release(); attempt(lambda: mv[0])
tobytes  memoryview(b2).tobytes()
tobytes (from outside)  mv.tobytes()
hex  memoryview(b2).hex("-")
tolist  memoryview(b2).tolist()
cast  memoryview(b2).cast("H").tolist(), memoryview(b2).cast("c").tolist()
toreadonly  memoryview(ba).toreadonly().readonly
obj  memoryview(b2).obj
nbytes  memoryview(b2).nbytes
readonly  memoryview(b2).readonly
itemsize  memoryview(b2).itemsize
format  memoryview(b2).format
ndim  memoryview(b2).ndim
shape  memoryview(b2).shape
strides  memoryview(b2).strides
suboffsets  memoryview(b2).suboffsets
c_contiguous  memoryview(b2).c_contiguous
f_contiguous  memoryview(b2).f_contiguous
contiguous  memoryview(b2).contiguous
shape (from outside)  mv.shape
__doc__  type(memoryview.__doc__)
""",
    "list": """
__new__  list.__new__(list), list(p), list(), attempt(list, 1, 2)
__init__  l.__init__(rg); made = [1]; made.__init__([x]); made.__init__(); l, made
__hash__  attempt(hash, l), list.__hash__ is None
__eq__  l == l2, l == [3, 1, 2], l.__eq__(l2), l == p, l == none
__getitem__  l[0], l[-1], l[1:], l[::-1], lx[0], l.__getitem__(1), attempt(lambda: l[9]), attempt(lambda: l["a"])
__setitem__
    l[0] = x
    l[1:2] = [4, 5]
    made = [1, 2, 3]
    made[-1] = n
    made[::2] = l2
    l, made, attempt(l.__setitem__, 9, 1), attempt(made.__setitem__, slice(None, None, 2), [1])
__delitem__  del l[0]; made = [1, 2, 3]; del made[1:]; l, made, attempt(l.__delitem__, 9)
__contains__  3 in l, n not in l, l.__contains__(1), none in l
__add__  l + l2, l + [x], attempt(lambda: l + p)
__iadd__  l += p; made = [1]; made += l2; made += "ab"; l, made, attempt(l.__iadd__, n)
__imul__  l *= 2; made = [x]; made *= m; l, made
__sizeof__  type(l.__sizeof__())
append  l.append(x); made = []; made.append(n); l, made, attempt(l.append)
clear  l.clear(); made = [1, x]; made.clear(); l, made
copy  l.copy(), lx.copy()[0] is lx[0], [x, 1].copy()
count  l.count(3), l.count(n), [1, 1, 2].count(1), words.count("fig")
extend  l.extend(p); made = [1]; made.extend(value for value in l2); made.extend(d); l, made, attempt(made.extend, n)
index  l.index(1), l.index(2, 1), words.index("fig", 0, 2), attempt(l.index, n)
insert  l.insert(0, x); made = [1, 2]; made.insert(-1, n); made.insert(99, m); l, made
pop  l.pop(), l.pop(0), [1, x].pop(), lx.pop(), attempt([].pop), attempt(l.pop, 99)
remove  l.remove(1); made = [1, 2, 1]; made.remove(1); l, made, attempt(l.remove, n)
reverse  l.reverse(); made = [1, x]; made.reverse(); lx.reverse(); l, made
sort
    l.sort()
    words.sort(key=len, reverse=True)
    made = [3, 1, 2]
    made.sort(key=lambda value: -value)
    l, words, made, attempt(["a", 1].sort)
""",
    "tuple": """
__new__  tuple.__new__(tuple, l), tuple(l), tuple(), attempt(tuple, n)
__getitem__  p[0], p[-1], p[1:], p[::-1], attempt(lambda: p[9]), attempt(lambda: p["a"])
__contains__  1 in p, n not in p, "two" in p
count  p.count(1), (1, 1, 2).count(1)
index  p.index("two"), p.index(3.0, 1), attempt(p.index, n)
""",
    "dict": """
__new__  dict.__new__(dict), dict(d), dict(a=1), attempt(dict, 1)
__init__  d.__init__(z=n); made = {}; made.__init__([("a", x)]); d, made
__getitem__  d["a"], dx["w"], {n: x}[n], d.__getitem__("b"), attempt(lambda: d["z"]), attempt(lambda: d[[]])
__setitem__  d["a"] = x; d["z"] = n; made = {}; made[n] = m; made[p] = l; d, made, attempt(made.__setitem__, [], 1)
__delitem__  del d["a"]; made = {"a": 1, "b": x}; del made["a"]; d, made, attempt(d.__delitem__, "z")
__contains__  "a" in d, "z" not in d, d.__contains__("a"), attempt(lambda: [] in d)
__iter__  list(d), [key for key in d], {key: d[key] for key in d}, list({"z": x})
__sizeof__  type(d.__sizeof__())
clear  d.clear(); made = {"a": x}; made.clear(); d, made
copy  d.copy(), dx.copy()["w"] is dx["w"], {"a": x}.copy()
fromkeys  dict.fromkeys(l), dict.fromkeys(s, x), {}.fromkeys(d, n), attempt(dict.fromkeys, n)
get  d.get("a"), d.get("z"), d.get("z", n), {n: x}.get(n)
items  list(d.items()), [(key, value) for key, value in dx.items()], ("a", 1) in d.items(), len(d.items())
keys  list(d.keys()), "a" in d.keys(), d.keys() & d2.keys(), len(d.keys())
pop  d.pop("a"), d.pop("z", n), {"a": x}.pop("a"), dx.pop("w"), attempt(d.pop, "z")
popitem  d.popitem(), {"a": x}.popitem(), attempt({}.popitem)
setdefault  d.setdefault("a", n), d.setdefault("z", n), {}.setdefault("a", x), dx.setdefault("u", [])
update  d.update(d2, z=n); made = {}; made.update([("a", x)]); made.update(dx); d, made, attempt(d.update, n)
values  list(d.values()), sum(d.values()), [value + 1 for value in dx.values()], 1 in d.values()
""",
    "set": _sets("e", "e2")
    + """
__new__  set.__new__(set), set(l), attempt(set, n)
__init__  e.__init__(l); made = {9}; made.__init__([1]); e, made
__hash__  attempt(hash, e)
add  e.add(n); made = set(); made.add(m); made.add(m); e, made, attempt(e.add, [])
clear  e.clear(); made = {1}; made.clear(); e, made
difference_update  e.difference_update(e2); made = {1, 2}; made.difference_update([1], rg); e, made
discard  e.discard(1); made = {1}; made.discard(9); made.discard(1); e, made
intersection_update  e.intersection_update(e2); made = {1, 2}; made.intersection_update([1]); e, made
pop  {n}.pop(), len(e), e.pop() in l, attempt(set().pop)
remove  e.remove(1); made = {1}; made.remove(1); e, made, attempt(e.remove, n)
symmetric_difference_update  e.symmetric_difference_update(e2); made = {1}; made.symmetric_difference_update([1, 2]); e, made
update  e.update(e2, l2); made = set(); made.update("ab", [n]); e, made, attempt(e.update, n)
""",
    "frozenset": _sets("fs", "fs2")
    + """
__new__  frozenset.__new__(frozenset, l), frozenset(), attempt(frozenset, n)
""",
    "range": """
__new__  range.__new__(range, n), range(1, n, m), attempt(range), attempt(range, r), attempt(range, 1, 2, 0)
__getitem__  rg[0], rg[-1], rg[1:], rg[::-1], attempt(lambda: rg[9])
__contains__  2 in rg, n in rg, "a" not in rg, rg.__contains__(5)
count  rg.count(2), rg.count(3)
index  rg.index(5), attempt(rg.index, 3)
start  rg.start, range(n).start
stop  rg.stop, range(n).stop
step  rg.step, range(n).step
""",
    "slice": """
__new__  slice.__new__(slice, n), slice(1, n), slice(1, n, m), attempt(slice)
indices  k.indices(4), slice(None, -1).indices(n), attempt(k.indices, neg)
start  k.start, slice(n, m).start
stop  k.stop, slice(n, m).stop
step  k.step, slice(n, m, 2).step
""",
    "object": """
__new__  type(object.__new__(Point)), attempt(object.__new__), attempt(object, 1)
__init__  obj.__init__(n, m); made = Point(1, 2); made.__init__(3, 4); obj, made, attempt(object.__init__, made, 1)
__repr__
    class Plain:
        pass
    ---
    type(repr(Plain())), Plain().__repr__()[:9]
__str__  str(obj), object.__str__(obj)
__hash__  hash(obj) == hash(obj2), object.__hash__(obj) == object.__hash__(obj)
__getattribute__  object.__getattribute__(obj, "a"), attempt(object.__getattribute__, obj, "z")
__setattr__  object.__setattr__(obj, "a", x); made = Point(1, 2); made.__setattr__("z", n); made.z, attempt(object.__setattr__, n, "z", 1)
__delattr__  object.__delattr__(obj, "a"); made = Point(1, 2); made.__delattr__("b"); attempt(object.__delattr__, made, "b")
__lt__  object.__lt__(obj, obj2), attempt(lambda: obj < n)
__eq__  object.__eq__(obj, obj), object.__eq__(obj, obj2), obj == obj2
__ne__  object.__ne__(obj, obj2), obj != obj2
__format__  format(obj), f"{obj}", object.__format__(obj, ""), attempt(format, obj, ">9")
__getstate__  obj.__getstate__()
__sizeof__  type(obj.__sizeof__())
__reduce_ex__  len(obj.__reduce_ex__(2))
__reduce__  attempt(obj.__reduce__)[0]
__dir__  "a" in obj.__dir__()
__class__  obj.__class__ is Point, n.__class__, x.__class__
__init_subclass__  object.__init_subclass__()
__subclasshook__  object.__subclasshook__(int), Point.__subclasshook__(int)
__doc__  type(object.__doc__), Point.__doc__
""",
    "type": """
__new__  type.__new__(type, "Made", (), {"size": n}).size
__init__  type.__init__(Point, "Point", (), {})
__call__  Point(1, 2), type.__call__(Point, n, m), int.__call__(r), attempt(Point)
__repr__  repr(Point), repr(int), str(torch.Tensor)
__hash__  hash(int) == hash(int), {int: n, Point: m}[Point]
__getattribute__  Point.kind, type.__getattribute__(Point, "kind"), Point.total is Point.__dict__["total"], attempt(getattr, Point, "z")
__setattr__  Point.kind = s; Point.kind
__delattr__  Point.made = n; del Point.made; hasattr(Point, "made")
__or__  int | str, (int | None) == (None | int), attempt(lambda: int | 5)
__ror__  None | int
mro  Point.mro(), bool.mro()
__subclasses__  Point.__subclasses__(), bool.__subclasses__()
__prepare__  type.__prepare__(), type.__prepare__("Made", ())
__instancecheck__  type.__instancecheck__(int, n), Point.__instancecheck__(obj), isinstance(obj, Point)
__subclasscheck__  type.__subclasscheck__(int, bool), Point.__subclasscheck__(int), issubclass(bool, int)
__dir__  "mro" in type.__dir__(Point)
__sizeof__  type(type.__sizeof__(Point))
__basicsize__  int.__basicsize__
__itemsize__  int.__itemsize__
__flags__  type(int.__flags__)
__weakrefoffset__  int.__weakrefoffset__
__base__  bool.__base__, Point.__base__
__dictoffset__  int.__dictoffset__
__mro__  bool.__mro__, Point.__mro__
__name__  Point.__name__, type(obj).__name__, int.__name__
__qualname__  Point.__qualname__, dict.fromkeys.__qualname__
__bases__  bool.__bases__, Point.__bases__
__module__  Point.__module__, int.__module__
__dict__  Point.__dict__["kind"], "real" in int.__dict__, sorted(name for name in Point.__dict__ if name[0] != "_")
__doc__  type(int.__doc__), Point.__doc__
__text_signature__  type(list.__text_signature__), Point.__text_signature__
__annotations__
    class Noted:
        size: int = 1
    ---
    Noted.__annotations__, Noted.__annotations__["size"] is int
""",
}

_SUPER = """
class Base:
    def __init__(self, a=1):
        self.a = a
    def size(self):
        return self.a
    @classmethod
    def named(cls):
        return cls.__name__
class Derived(Base):
    def size(self):
        return $code
---
made = Derived($a)
made.size()
"""
_LOCAL = """
class Local:
    def __init__(self, side):
        self.side = side
    def get(self):
        return self.side
    def set(self, value):
        self.side = value
    def drop(self):
        self.side = None
    area = property(get, set, drop, "the area")
    @classmethod
    def make(cls, n):
        return cls.__name__, n
    @staticmethod
    def plain(n):
        return n * 2
---
made = Local(n)
$code
"""


def _in(frame: str, table: str) -> str:
    """A table whose cases stand within a common program."""
    blocks = []
    for line in table.strip().splitlines():
        name, _, code = line.partition("  ")
        text = string.Template(frame.strip()).substitute(code=code.strip(), a="n")
        blocks.append(name + "  \n" + "\n".join("    " + part for part in text.splitlines()))
    return "\n".join(blocks)


METHODS |= {
    "super": _in(
        _SUPER,
        """
__new__  super.__new__(super).__class__.__name__, super().size()
__init__  super(Derived, self).size(), super().__init__(5), self.a
__repr__  repr(super()).partition(",")[0]
__getattribute__  super().size(), super().named(), getattr(super(), "missing", 3), super().a if False else 1
__get__  super(Derived).__get__(self).size()
__thisclass__  super().__thisclass__.__name__
__self__  super().__self__ is self
__self_class__  super().__self_class__.__name__
__doc__  type(super.__doc__)
""",
    ),
    "property": _in(
        _LOCAL,
        """
__new__  property.__new__(property).fget, property().fset
__init__  property(lambda self: 1).fget(n), property(fget=None, doc="text").__doc__
__getattribute__  Local.area.fget.__name__, attempt(getattr, Local.area, "missing")
__get__  made.area, Local.area.__get__(made), Local.area is Local.__dict__["area"]
__set__  made.area = x; Local.area.__set__(made, m); made.area, made.side
__delete__  del made.area; Local.area.__delete__(made); made.side
getter  property().getter(Local.get).fget is Local.get
setter  Local.area.setter(None).fset
deleter  Local.area.deleter(None).fdel
fget  Local.area.fget(made)
fset  Local.area.fset(made, m); made.area
fdel  Local.area.fdel(made); made.side
__set_name__  Local.area.__set_name__(Local, "area")
__isabstractmethod__  Local.area.__isabstractmethod__
__doc__  Local.area.__doc__
""",
    ),
    "classmethod": _in(
        _LOCAL,
        """
__new__  attempt(classmethod), type(classmethod.__new__(classmethod))
__init__  classmethod(len).__func__ is len
__repr__  type(repr(Local.__dict__["make"]))
__get__  Local.make(n), made.make(m), Local.__dict__["make"].__get__(None, Local)(n)
__func__  Local.make.__func__(Local, n), Local.__dict__["make"].__func__.__name__
__wrapped__  Local.__dict__["make"].__wrapped__.__name__
__isabstractmethod__  Local.__dict__["make"].__isabstractmethod__
__dict__  sorted(Local.__dict__["make"].__dict__)
__doc__  type(classmethod.__doc__)
""",
    ),
    "staticmethod": _in(
        _LOCAL,
        """
__new__  attempt(staticmethod), type(staticmethod.__new__(staticmethod))
__init__  staticmethod(len).__func__ is len
__repr__  type(repr(Local.__dict__["plain"]))
__call__  Local.__dict__["plain"](n), staticmethod(double)(x)
__get__  Local.plain(n), made.plain(x), Local.__dict__["plain"].__get__(None, Local)(n)
__func__  Local.__dict__["plain"].__func__.__name__
__wrapped__  Local.__dict__["plain"].__wrapped__.__name__
__isabstractmethod__  Local.__dict__["plain"].__isabstractmethod__
__dict__  sorted(Local.__dict__["plain"].__dict__)
__doc__  type(staticmethod.__doc__)
""",
    ),
}

METHODS |= {
    "enumerate": """
__new__  list(enumerate.__new__(enumerate, l)), list(enumerate(l, m)), attempt(enumerate)
__next__  made = enumerate(lx); next(made), made.__next__(), attempt(next, made)
__next__ (from outside)
    def f(x, pairs):
        first = next(pairs)
        return first, x * first[0]
    def inputs():
        return torch.ones(3), enumerate([4, 5])
__reduce__  enumerate(l).__reduce__()[0]
""",
    "zip": """
__new__  list(zip.__new__(zip, l, s)), list(zip(l, l2, strict=False)), attempt(zip, n)
__next__  made = zip(lx, l); next(made), made.__next__(), attempt(next, made)
__reduce__  zip(l, l).__reduce__()[0]
__setstate__  attempt(zip(l).__setstate__, True)
""",
    "map": """
__new__  list(map.__new__(map, double, lx)), list(map(divmod, l, l)), attempt(map, n), attempt(map)
__next__  made = map(double, lx); next(made), made.__next__(), attempt(next, made)
__reduce__  map(double, l).__reduce__()[0]
""",
    "filter": """
__new__  list(filter.__new__(filter, None, l)), list(filter(lambda value: value > 1, l)), attempt(filter)
__next__  made = filter(None, l2); next(made), made.__next__(), attempt(next, made)
__reduce__  filter(None, l).__reduce__()[0]
""",
    "reversed": """
__new__  list(reversed.__new__(reversed, l)), list(reversed(p)), attempt(reversed, n)
__next__  made = reversed(lx); next(made), made.__next__(), attempt(next, made)
__length_hint__  operator.length_hint(reversed(l)), reversed(l).__length_hint__()
__reduce__  reversed(l).__reduce__()[0]
__setstate__  made = reversed(l); made.__setstate__(0); list(made)
""",
    "BaseException": """
__new__  BaseException.__new__(ValueError, n).args, BaseException(n).args
__init__  made = ValueError(); made.__init__(n); made.args
__str__  str(ValueError(n)), str(KeyError("z")), str(ValueError()), f"{ValueError(s)}"
__str__ (from outside)  str(err)
__repr__  repr(ValueError(n)), repr(KeyError())
__repr__ (from outside)  repr(err)
__setattr__  made = ValueError(); made.code = x; made.code
__setattr__ (from outside)  err.code = n; err.code
__delattr__  made = ValueError(); made.code = x; del made.code; hasattr(made, "code")
__reduce__  ValueError(n).__reduce__()
__setstate__  made = ValueError(); made.__setstate__({"code": n}); made.code
with_traceback  made = ValueError(n); made.with_traceback(None) is made
with_traceback (from outside)  err.with_traceback(None) is err
add_note  made = ValueError(n); made.add_note(s); made.__notes__, attempt(made.add_note, n)
add_note (from outside)  err.add_note(s); err.__notes__
args  ValueError(n, m).args
args (from outside)  err.args
__suppress_context__  err.__suppress_context__, ValueError().__suppress_context__
__traceback__  err.__traceback__, ValueError().__traceback__
__context__  err.__context__, ValueError().__context__
__cause__  made = ValueError(); made.__cause__ = KeyError(n); made.__cause__.args, err.__cause__
__dict__  made = ValueError(); made.code = n; made.__dict__, err.__dict__
""",
    "BaseExceptionGroup": """
__new__  ExceptionGroup("g", [err]).exceptions, attempt(ExceptionGroup, "g", []), attempt(ExceptionGroup, "g")
__init__  ExceptionGroup("g", [ValueError(n)]).args
__str__  str(ExceptionGroup("g", [ValueError(n), KeyError()]))
derive  ExceptionGroup("g", [err]).derive([KeyError(n)]).exceptions
split  [part and part.exceptions for part in ExceptionGroup("g", [ValueError(n), KeyError()]).split(ValueError)]
subgroup
    group = ExceptionGroup("g", [ValueError(n), KeyError()])
    group.subgroup(KeyError).exceptions, group.subgroup(OSError), group.subgroup(lambda error: bool(error.args)).exceptions
message  ExceptionGroup(s, [err]).message
exceptions  ExceptionGroup("g", [err]).exceptions
""",
    "types.FunctionType": """
__new__  types.FunctionType(double.__code__, {}, "made")(n)
__repr__  type(repr(fn))
__call__  fn(n), fn.__call__(x), double(value=m), attempt(fn)
__get__  fn.__get__(n)(), double.__get__(None, int)(m)
__closure__  (lambda: n).__closure__[0].cell_contents, fn.__closure__
__doc__  fn.__doc__
__globals__  "double" in fn.__globals__
__module__  fn.__module__
__builtins__  fn.__builtins__["len"] is len
__code__  fn.__code__.co_name, fn.__code__.co_argcount, double.__code__.co_varnames
__defaults__  fn.__defaults__, (lambda value=n: value).__defaults__
__kwdefaults__  fn.__kwdefaults__, (lambda *, value=n: value).__kwdefaults__
__annotations__  fn.__annotations__
__dict__  fn.__dict__
__name__  fn.__name__, (lambda: n).__name__
__qualname__  fn.__qualname__, Point.total.__qualname__
""",
    "types.MethodType": """
__new__  types.MethodType(double, n)(), types.MethodType(Point.total, obj)(2), attempt(types.MethodType, 1, 2)
__repr__  repr(obj.total)
__call__  obj.total(), obj.total.__call__(scale=n), attempt(obj.total, 1, 2)
__hash__  hash(obj.total) == hash(obj.total)
__setattr__  attempt(setattr, obj.total, "note", n)
__delattr__  attempt(delattr, obj.total, "note")
__func__  obj.total.__func__ is Point.total
__self__  obj.total.__self__ is obj
__doc__  obj.total.__doc__
__reduce__  obj.total.__reduce__()[0]
""",
    "types.BuiltinFunctionType": """
__call__  l.index(1), len.__call__(l), l.append(n)
__repr__  repr(len), type(repr(l.index))
__hash__  hash(len) == hash(len), {len: n}[len]
__reduce__  len.__reduce__()
__self__  l.index.__self__ is l
__name__  l.index.__name__, len.__name__
__qualname__  l.index.__qualname__
__module__  len.__module__
__text_signature__  len.__text_signature__
__doc__  type(len.__doc__)
""",
    "types.GeneratorType": """
__repr__  type(repr(counting(m)))
__del__  attempt(counting(m).__del__)
__next__  made = counting(2); next(made), made.__next__(), attempt(next, made), attempt(next, made)
__iter__  list(counting(m)), [value for value in counting(m)], sum(iter(counting(m)))
send  made = counting(m); next(made), made.send(n), made.send(None), attempt(counting(m).send, n)
throw
    def patient():
        try:
            yield 1
        except ValueError as error:
            yield str(error)
    ---
    made = patient()
    next(made), made.throw(ValueError(n)), attempt(made.throw, KeyError("z"))
close  made = counting(m); next(made); made.close(); attempt(next, made)
__sizeof__  counting(m).__sizeof__() > 0
gi_frame  counting(m).gi_frame is None
gi_running  counting(m).gi_running
gi_yieldfrom  counting(m).gi_yieldfrom
gi_code  counting(m).gi_code.co_name
gi_suspended  made = counting(m); next(made); made.gi_suspended
__name__  counting(m).__name__
__qualname__  counting(m).__qualname__
""",
    "types.CoroutineType": """
__repr__  made = waiting(m); run(made); type(repr(made))
__del__  made = waiting(m); run(made); attempt(made.__del__)
__await__  run(waiting(m)), list(waiting(m).__await__())
send  run(waiting(n)), waiting(n).close()
send (too early)  made = waiting(m); found = attempt(made.send, n); made.close(); found
throw  attempt(waiting(m).throw, ValueError(n))
close  made = waiting(m); made.close(); attempt(made.send, None)
cr_frame  made = waiting(m); run(made); made.cr_frame
__sizeof__  made = waiting(m); run(made); made.__sizeof__() > 0
cr_running  made = waiting(m); run(made); made.cr_running
cr_await  made = waiting(m); run(made); made.cr_await
cr_code  made = waiting(m); run(made); made.cr_code.co_name
cr_origin  made = waiting(m); run(made); made.cr_origin
cr_suspended  made = waiting(m); run(made); made.cr_suspended
__name__  made = waiting(m); run(made); made.__name__
__qualname__  made = waiting(m); run(made); made.__qualname__
__getattribute__  made = waiting(m); run(made); attempt(getattr, made, "missing")
__doc__  type(types.CoroutineType.__doc__)
""",
    "types.CellType": """
__new__  types.CellType(n).cell_contents, attempt(lambda: types.CellType().cell_contents)
__repr__  type(repr(types.CellType(n)))
cell_contents
    made = types.CellType(n)
    made.cell_contents = x
    value = n
    found = (lambda: value).__closure__[0].cell_contents
    made.cell_contents, found
__hash__  attempt(hash, types.CellType(n))
__lt__  types.CellType(n) < types.CellType(m)
__le__  types.CellType(n) <= types.CellType(m)
__gt__  types.CellType(n) > types.CellType(m)
__ge__  types.CellType(n) >= types.CellType(m)
__eq__  types.CellType(n) == types.CellType(m)
__ne__  types.CellType(n) != types.CellType(m)
""",
    "types.MappingProxyType": """
__new__  types.MappingProxyType(d)["a"], attempt(types.MappingProxyType, n)
__getitem__  types.MappingProxyType(d)["a"], attempt(lambda: types.MappingProxyType(d)["z"])
__getitem__ (from outside)  mp["a"], attempt(lambda: mp["z"])
__getitem__ (of a class)  Point.__dict__["kind"], "kind" in Point.__dict__
__contains__ (from outside)  "a" in mp, "z" not in mp
__iter__ (from outside)  list(mp), [key for key in mp]
__len__ (from outside)  len(mp)
__or__  types.MappingProxyType(d) | d2, types.MappingProxyType(d) | {"z": x}
__ror__  {"z": x} | types.MappingProxyType(d)
__ior__  attempt(operator.ior, types.MappingProxyType(d), d2)
__hash__  attempt(hash, types.MappingProxyType(d))
get  types.MappingProxyType(d).get("a"), types.MappingProxyType(d).get("z", n)
get (from outside)  mp.get("a"), mp.get("z", n)
items  list(types.MappingProxyType(d).items())
items (from outside)  list(mp.items()), [key for key, value in mp.items()]
keys  list(types.MappingProxyType(d).keys())
values  list(types.MappingProxyType(d).values())
values (from outside)  list(mp.values()), sum(mp.values())
""",
    "types.SimpleNamespace": """
__new__  types.SimpleNamespace().__dict__, types.SimpleNamespace(a=x).a, attempt(types.SimpleNamespace, 1)
__init__  made = types.SimpleNamespace(); made.__init__(a=n); made
__getattribute__  types.SimpleNamespace(a=x).a, attempt(getattr, types.SimpleNamespace(), "z")
__getattribute__ (from outside)  ns.a, attempt(getattr, ns, "z")
__setattr__  made = types.SimpleNamespace(); made.z = n; made
__setattr__ (from outside)  ns.a = x; ns
__delattr__  made = types.SimpleNamespace(a=n); del made.a; made
__delattr__ (from outside)  del ns.a; ns
__eq__ (from outside)  ns == ns2, ns == types.SimpleNamespace(a=1, b=2)
__repr__ (from outside)  repr(ns)
""",
    "types.GenericAlias": """
__new__  types.GenericAlias(list, (int,)), list[int], dict[str, list[int]]
__call__  list[int](p), dict[str, int](a=n)
__getitem__  list[typing.TypeVar("T")].__parameters__[0].__name__
__getattribute__  list[int].append is list.append, attempt(getattr, list[int], "missing")
__mro_entries__  list[int].__mro_entries__(())
__instancecheck__  attempt(isinstance, l, list[int])
__subclasscheck__  attempt(issubclass, list, list[int])
__dir__  "append" in dir(list[int])
__origin__  list[int].__origin__
__args__  list[int].__args__, dict[str, int].__args__
__parameters__  list[int].__parameters__
__unpacked__  list[int].__unpacked__
__typing_unpacked_tuple_args__  list[int].__typing_unpacked_tuple_args__
__or__  list[int] | None
__ror__  None | list[int]
__eq__  list[int] == list[int], list[int] == list[str]
__ne__  list[int] != list[int], list[int] != list[str]
__iter__  list(list[int])
""",
    "types.UnionType": """
__getattribute__  attempt(getattr, int | str, "missing")
__or__  (int | str) | None, int | str | float
__ror__  None | (int | str)
__getitem__  attempt(lambda: (int | str)[int])
__args__  (int | str).__args__
__parameters__  (int | str).__parameters__
__eq__  (int | str) == (str | int), (int | str) == int
__ne__  (int | str) != (str | int), (int | str) != int
""",
    "dict_keys": """
__and__  d.keys() & d2.keys(), d.keys() & ["a"]
__rand__  ["a"] & d.keys()
__or__  sorted(d.keys() | d2.keys())
__ror__  sorted(["z"] | d.keys())
__sub__  d.keys() - d2.keys(), d.keys() - ["a"]
__rsub__  ["a", "z"] - d.keys()
__xor__  sorted(d.keys() ^ d2.keys())
__rxor__  sorted(["a"] ^ d.keys())
__iter__  list(d.keys()), [key for key in {"z": x}.keys()]
__contains__  "a" in d.keys(), "z" not in d.keys()
isdisjoint  d.keys().isdisjoint(d2.keys()), d.keys().isdisjoint(["z"])
mapping  d.keys().mapping["a"]
__getattribute__  attempt(getattr, d.keys(), "missing")
__doc__  type(d.keys().__doc__)
""",
    "dict_values": """
__iter__  list(d.values()), [value + 1 for value in dx.values()]
mapping  d.values().mapping["a"]
__getattribute__  attempt(getattr, d.values(), "missing")
__doc__  type(d.values().__doc__)
""",
    "dict_items": """
__and__  d.items() & d2.items(), d.items() & [("a", 1)]
__rand__  [("a", 1)] & d.items()
__or__  sorted(d.items() | d2.items())
__ror__  sorted([("z", 1)] | d.items())
__sub__  sorted(d.items() - d2.items())
__rsub__  [("z", 1)] - d.items()
__xor__  sorted(d.items() ^ d2.items())
__rxor__  sorted([("z", 1)] ^ d.items())
__iter__  list(d.items()), [(key, value + 1) for key, value in dx.items()]
__contains__  ("a", 1) in d.items(), ("a", 2) not in d.items()
isdisjoint  d.items().isdisjoint(d2.items())
mapping  d.items().mapping["a"]
__getattribute__  attempt(getattr, d.items(), "missing")
__doc__  type(d.items().__doc__)
""",
}

METHODS |= {
    "collections.OrderedDict": """
__init__  od.__init__(z=n); made = collections.OrderedDict([("a", x)]); od, made, attempt(collections.OrderedDict, 1)
__setitem__  od["a"] = x; od["z"] = n; made = collections.OrderedDict(); made["b"] = m; od, made
__delitem__  del od["a"]; made = collections.OrderedDict(a=1); del made["a"]; od, made, attempt(od.__delitem__, "z")
__iter__  list(od), [key for key in od]
__eq__  od == od2, od == {"b": 2, "a": 1}, od == collections.OrderedDict(b=2, a=1)
__ne__  od != od2, od != {"b": 2, "a": 1}
__sizeof__  type(od.__sizeof__())
__reduce__  od.__reduce__()[0]
fromkeys  collections.OrderedDict.fromkeys(l, x)
setdefault  od.setdefault("a", n), od.setdefault("z", x)
pop  od.pop("a"), od.pop("z", n), attempt(od.pop, "z")
popitem  od.popitem(), collections.OrderedDict(a=1, b=x).popitem(last=False), attempt(collections.OrderedDict().popitem)
keys  list(od.keys())
values  list(od.values()), list(reversed(od.values()))
items  list(od.items()), [value for key, value in od.items()]
update  od.update(d2); made = collections.OrderedDict(); made.update(a=x); od, made
move_to_end
    od.move_to_end("a")
    made = collections.OrderedDict(a=1, b=x)
    made.move_to_end("b", last=False)
    od, made, attempt(made.move_to_end, "z")
""",
    "collections.defaultdict": """
__init__  dd.__init__(int, z=n); made = collections.defaultdict(int, a=1); made["b"] += n; dd, made, attempt(collections.defaultdict, 1)
__missing__  dd["z"].append(x); made = collections.defaultdict(lambda: n); made["a"], dd, attempt(collections.defaultdict().__missing__, "z")
__reduce__  dd.__reduce__()[:2]
copy  dd.copy(), collections.defaultdict(int, a=1).copy()
default_factory  dd.default_factory, collections.defaultdict(int).default_factory
default_factory (set)  made = collections.defaultdict(int); made.default_factory = list; dd.default_factory = int; made["a"], dd["q"]
""",
    "collections.deque": """
__new__  collections.deque.__new__(collections.deque), collections.deque(l), collections.deque(l, 2), attempt(collections.deque, n)
__init__  dq.__init__(l); made = collections.deque([1]); made.__init__([x]); dq, made
__hash__  attempt(hash, dq)
__add__  dq + dq2, attempt(lambda: dq + [1])
__mul__  dq2 * 2
__rmul__  2 * dq2
__getitem__  dq[0], dq[-1], collections.deque([x, 1])[0], attempt(lambda: dq[9])
__setitem__  dq[0] = x; made = collections.deque([1, 2]); made[-1] = n; dq, made, attempt(dq.__setitem__, 9, 1)
__delitem__  del dq[0]; made = collections.deque([1, x]); del made[0]; dq, made
__contains__  2 in dq, n not in dq
__iadd__  dq += l; made = collections.deque(); made += l2; dq, made
__imul__  dq *= 2; made = collections.deque([x]); made *= 2; dq, made
__sizeof__  type(dq.__sizeof__())
__reduce__  dq.__reduce__()[0]
append  dq.append(x); dq.append(n); dq.append(m); made = collections.deque(maxlen=1); made.append(n); made.append(m); dq, made
appendleft  dq.appendleft(x); made = collections.deque(); made.appendleft(n); dq, made
clear  dq.clear(); made = collections.deque([x]); made.clear(); dq, made
count  dq.count(1), collections.deque([1, 1]).count(1)
extend  dq.extend(l); made = collections.deque(); made.extend(value for value in l2); dq, made
extendleft  dq.extendleft(l2); made = collections.deque([0]); made.extendleft("ab"); dq, made
index  dq.index(2), dq.index(3, 1), attempt(dq.index, n)
insert  dq.insert(1, x); made = collections.deque([1, 2]); made.insert(1, n); dq, made
maxlen  dq.maxlen, dq2.maxlen, collections.deque(maxlen=n).maxlen
pop  dq.pop(), collections.deque([1, x]).pop(), attempt(collections.deque().pop)
popleft  dq.popleft(), collections.deque([x, 1]).popleft(), attempt(collections.deque().popleft)
remove  dq.remove(2); made = collections.deque([1, 2]); made.remove(1); dq, made, attempt(made.remove, n)
reverse  dq.reverse(); made = collections.deque([1, x]); made.reverse(); dq, made
rotate  dq.rotate(1); made = collections.deque([1, 2, x]); made.rotate(-1); dq, made
""",
    "collections.Counter": """
__init__  cn.__init__("b"); collections.Counter(l), collections.Counter(a=n), collections.Counter(s), cn
__missing__  cn["z"], collections.Counter()["a"], cn.__missing__("z"), dict(cn)
__reduce__  cn.__reduce__()
__delitem__  del cn["a"]; del cn["z"]; made = collections.Counter("ab"); del made["a"]; cn, made
elements  list(cn.elements()), sorted(collections.Counter(l).elements())
fromkeys  attempt(collections.Counter.fromkeys, "ab")
most_common  cn.most_common(), cn.most_common(2), collections.Counter(words).most_common(2)
most_common (of one)  cn.most_common(1)
subtract  cn.subtract("ab"); made = collections.Counter(a=n); made.subtract(a=m); cn, made
total  cn.total(), collections.Counter(a=n).total()
update  cn.update("ab"); made = collections.Counter(); made.update(d, z=1); cn, made
""",
    "collections.ChainMap": """
__init__  collections.ChainMap(d, d2)["c"], collections.ChainMap().maps, cm.maps
__missing__  attempt(cm.__missing__, "z"), attempt(lambda: cm["z"])
__getitem__  cm["a"], cm["b"], collections.ChainMap(d, d2)["c"], attempt(lambda: cm["z"])
__setitem__  cm["z"] = x; made = collections.ChainMap({}, d); made["a"] = n; cm.maps, made.maps
__delitem__  del cm["a"]; made = collections.ChainMap({"a": x}, d); del made["a"]; cm.maps, made.maps, attempt(cm.__delitem__, "z")
fromkeys  collections.ChainMap.fromkeys(s, n).maps
get  cm.get("a"), cm.get("z"), cm.get("z", n)
new_child  cm.new_child().maps, cm.new_child({"q": x})["q"], collections.ChainMap(d).new_child(z=n)["z"]
parents  cm.parents.maps, collections.ChainMap({}, d).parents["a"]
pop  cm.pop("a"), attempt(cm.pop, "z")
popitem  cm.popitem(), attempt(collections.ChainMap().popitem)
""",
    "collections.UserDict": """
__init__  ud.__init__(z=1); collections.UserDict(d)["a"], collections.UserDict(a=n).data, ud
__getitem__  ud["a"], collections.UserDict(a=x)["a"], attempt(lambda: ud["z"])
__setitem__  ud["z"] = x; made = collections.UserDict(); made["a"] = n; ud, made
__delitem__  del ud["a"]; made = collections.UserDict(a=1); del made["a"]; ud, made, attempt(ud.__delitem__, "z")
fromkeys  collections.UserDict.fromkeys(s, n)
""",
    "collections.UserList": """
__init__  collections.UserList(l).data, collections.UserList(ul), collections.UserList()
__contains__  3 in ul, n not in ul
__getitem__  ul[0], ul[1:], collections.UserList([x])[0], attempt(lambda: ul[9])
__setitem__  ul[0] = x; made = collections.UserList([1, 2]); made[1:] = l; ul, made
__delitem__  del ul[0]; made = collections.UserList([1, 2]); del made[0]; ul, made
__add__  ul + ul2, ul + [x], collections.UserList([1]) + l
__radd__  l + ul
__iadd__  ul += l2; made = collections.UserList(); made += [x]; ul, made
append  ul.append(x); made = collections.UserList(); made.append(n); ul, made
insert  ul.insert(0, x); made = collections.UserList([1]); made.insert(0, n); ul, made
pop  ul.pop(), ul.pop(0), attempt(collections.UserList().pop)
remove  ul.remove(1); made = collections.UserList([1]); made.remove(1); ul, made, attempt(ul.remove, n)
count  ul.count(3)
index  ul.index(1), attempt(ul.index, n)
reverse  ul.reverse(); made = collections.UserList([1, x]); made.reverse(); ul, made
sort  ul.sort(); made = collections.UserList([2, 1]); made.sort(reverse=True); ul, made
extend  ul.extend(l); made = collections.UserList(); made.extend(ul2); ul, made
""",
    "functools.partial": """
__new__  functools.partial(double, n)(), functools.partial(sorted, reverse=True)(l), attempt(functools.partial, n), attempt(functools.partial)
__call__  functools.partial(attempt, double)(x), functools.partial(max, n)(m), functools.partial(functools.partial(dict, a=1), b=2)()
__repr__  repr(functools.partial(int, n))
__setattr__  made = functools.partial(double); made.note = n; made.note
__delattr__  made = functools.partial(double); made.note = n; del made.note; hasattr(made, "note")
__reduce__  functools.partial(double).__reduce__()[0]
__setstate__  made = functools.partial(double); made.__setstate__((int, ("3",), {}, None)); made()
func  functools.partial(double, n).func is double
args  functools.partial(double, n).args
keywords  functools.partial(double, value=n).keywords
__vectorcalloffset__  functools.partial(double).__vectorcalloffset__ > 0
__dict__  functools.partial(double).__dict__
""",
    "torch.nn.Sequential": """
__init__  made = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Tanh()); made(x)
__getitem__  seq[0](x), seq[-1](x), seq[:1](x), attempt(lambda: seq[9])
__setitem__  seq[1] = seq2[0]; seq(x)
__delitem__  del seq[0]; seq(x), len(seq)
__add__  (seq + seq2)(x)
__iadd__  seq += seq2; seq(x)
__mul__  (seq2 * 2)(x)
__rmul__  (2 * seq2)(x)
__imul__  seq2 *= 2; seq2(x)
__iter__
    z = x
    for layer in seq:
        z = layer(z)
    z
__dir__  "0" in dir(seq)
pop  seq.pop(0)(x), len(seq)
forward  seq(x), seq.forward(x)
append  seq.append(seq2[0]); seq(x)
insert  seq.insert(0, seq2[0])(x)
extend  seq.extend(seq2)(x)
__doc__  type(torch.nn.Sequential.__doc__)
""",
    "torch.nn.ModuleList": """
__init__  made = torch.nn.ModuleList([torch.nn.ReLU(), torch.nn.Tanh()]); made[0](x), len(made)
__getitem__  ml[0](x), ml[-1](x), ml[:1][0](x), attempt(lambda: ml[9])
__setitem__  ml[1] = ml2[0]; ml[1](x)
__delitem__  del ml[0]; ml[0](x), len(ml)
__iter__
    z = x
    for index, layer in enumerate(ml):
        z = layer(z) + index
    z
__iadd__  ml += ml2; ml[2](x)
__add__  (ml + ml2)[2](x)
__repr__  repr(ml)
__dir__  "0" in dir(ml)
insert  ml.insert(0, ml2[0]); ml[0](x)
append  ml.append(ml2[0]); ml[2](x)
pop  ml.pop(0)(x), len(ml)
extend  ml.extend(ml2); ml[2](x)
__doc__  type(torch.nn.ModuleList.__doc__)
""",
    "torch.nn.ModuleDict": """
__init__  made = torch.nn.ModuleDict({"a": torch.nn.ReLU()}); made["a"](x)
__getitem__  md["a"](x), attempt(lambda: md["z"])
__setitem__  md["z"] = md2["c"]; md["z"](x)
__delitem__  del md["a"]; len(md)
__iter__  list(md), [md[key](x) for key in md]
__contains__  "a" in md, "z" not in md
clear  md.clear(); len(md)
pop  md.pop("a")(x), len(md)
keys  list(md.keys())
items
    z = x
    for name, layer in md.items():
        z = layer(z)
    z
values  [layer(x) for layer in md.values()]
update  md.update(md2); md["c"](x)
__doc__  type(torch.nn.ModuleDict.__doc__)
""",
    "torch.nn.ParameterList": """
__init__  made = torch.nn.ParameterList([torch.ones(3)]); made[0] + x
__getitem__  pl[0] + x, pl[-1] * x, attempt(lambda: pl[9])
__getitem__ (a slice)  pl[:1][0] + x
__setitem__  pl[0] = pl2[0]; pl[0] + x
__iter__
    z = x
    for parameter in pl:
        z = z * parameter
    z
__iadd__  pl += pl2; pl[2] + x
__dir__  "0" in dir(pl)
append  pl.append(pl2[0]); pl[2] + x
extend  pl.extend(pl2); pl[2] + x
extra_repr  pl.extra_repr()
__call__  attempt(pl)
__doc__  type(torch.nn.ParameterList.__doc__)
""",
    "torch.nn.ParameterDict": """
__init__  made = torch.nn.ParameterDict({"a": torch.ones(3)}); made["a"] + x
__getitem__  pd["a"] + x, attempt(lambda: pd["z"])
__setitem__  pd["z"] = pd2["c"]; pd["z"] + x
__delitem__  del pd["a"]; len(pd)
__iter__  list(pd), [pd[key] * x for key in pd]
__reversed__  list(reversed(pd))
__contains__  "a" in pd, "z" not in pd
copy  pd.copy()["a"] + x
setdefault  pd.setdefault("a", n) + x
clear  pd.clear(); len(pd)
pop  pd.pop("a") + x, len(pd)
popitem  key, value = pd.popitem(); key, value + x
get  pd.get("a") + x, pd.get("z", n)
fromkeys  list(pd.fromkeys(["a"], n))
keys  list(pd.keys())
items  [(key, value * x) for key, value in pd.items()]
values  [value * x for value in pd.values()]
update  pd.update(pd2); pd["c"] + x
extra_repr  pd.extra_repr()
__call__  attempt(pd, 1)
__or__  (pd | pd2)["c"] + x
__ror__  pd.__ror__(pd2)["c"] + x
__ior__  pd |= pd2; pd["c"] + x
__doc__  type(torch.nn.ParameterDict.__doc__)
""",
}

HELPERS["waiting"] = """
async def waiting(value):
    return value
"""

LIBRARY = {
    "operator": """
abs  operator.abs(neg), operator.abs(x)
add  operator.add(n, m), operator.add(x, n), operator.add(l, l2), attempt(operator.add, n, s)
and_  operator.and_(n, m), operator.and_(e, e2), operator.and_(x > 0, y > 0)
attrgetter  operator.attrgetter("a")(obj), operator.attrgetter("a", "b")(obj), operator.attrgetter("shape")(x), attempt(operator.attrgetter("z"), obj)
call  operator.call(double, n), operator.call(double, value=x)
concat  operator.concat(l, l2), operator.concat(s, t), attempt(operator.concat, n, m)
contains  operator.contains(l, 3), operator.contains(d, "a"), operator.contains(s, "lo")
countOf  operator.countOf(l, 3), operator.countOf(s, "l")
delitem  operator.delitem(d, "a"); made = [1, x]; operator.delitem(made, 0); d, made
eq  operator.eq(n, m), operator.eq(l, l2), operator.eq(x, y)
floordiv  operator.floordiv(n, m), operator.floordiv(x, m), attempt(operator.floordiv, n, 0)
ge  operator.ge(n, m), operator.ge(x, y), attempt(operator.ge, n, s)
getitem  operator.getitem(l, 0), operator.getitem(d, "a"), operator.getitem(x, 1), attempt(operator.getitem, l, 9)
gt  operator.gt(n, m), operator.gt(x, y)
iadd  operator.iadd(n, m), operator.iadd(l, l2), operator.iadd(x * 1, y), l
iand  operator.iand(n, m), operator.iand(e, e2), e
iconcat  operator.iconcat(l, l2), l
ifloordiv  operator.ifloordiv(n, m)
ilshift  operator.ilshift(n, m)
imatmul  attempt(operator.imatmul, x * 1, y)
imod  operator.imod(n, m), operator.imod("%s", n)
imul  operator.imul(n, m), operator.imul(l, 2), operator.imul(x * 1, y), l
index  operator.index(n), attempt(operator.index, r)
indexOf  operator.indexOf(l, 1), attempt(operator.indexOf, l, n)
inv  operator.inv(n), operator.inv(x > 0)
invert  operator.invert(n), operator.invert(x > 0)
ior  operator.ior(n, m), operator.ior(d, d2), operator.ior(e, e2), d, e
ipow  operator.ipow(n, m), operator.ipow(x * 1, 2)
irshift  operator.irshift(n, m)
is_  operator.is_(obj, obj), operator.is_(l, l2), operator.is_(none, None)
is_not  operator.is_not(obj, obj), operator.is_not(x, y)
isub  operator.isub(n, m), operator.isub(e, e2), operator.isub(x * 1, y), e
itemgetter  operator.itemgetter(0)(l), operator.itemgetter("a", "b")(d), operator.itemgetter(slice(1, 3))(s), operator.itemgetter(0)(x)
itruediv  operator.itruediv(n, m), operator.itruediv(x * 1, m)
ixor  operator.ixor(n, m), operator.ixor(e, e2), e
le  operator.le(n, m), operator.le(x, y)
length_hint  operator.length_hint(l), operator.length_hint(iter(l)), operator.length_hint(n, 5) if flag else None
lshift  operator.lshift(n, m)
lt  operator.lt(n, m), operator.lt(x, y), attempt(operator.lt, n, s)
matmul  operator.matmul(x, y), attempt(operator.matmul, n, m)
methodcaller  operator.methodcaller("upper")(s), operator.methodcaller("total", scale=2)(obj), operator.methodcaller("sum")(x)
mod  operator.mod(n, m), operator.mod("%s", n), operator.mod(x, 2)
mul  operator.mul(n, m), operator.mul(x, y), operator.mul(l, 2)
ne  operator.ne(n, m), operator.ne(l, l2)
neg  operator.neg(n), operator.neg(x)
not_  operator.not_(n), operator.not_(l)
or_  operator.or_(n, m), operator.or_(d, d2), operator.or_(e, e2)
pos  operator.pos(neg), operator.pos(x)
pow  operator.pow(n, m), operator.pow(x, 2)
rshift  operator.rshift(n, m)
setitem  operator.setitem(d, "z", x); operator.setitem(l, 0, n); made = [1]; operator.setitem(made, 0, x); d, l, made
sub  operator.sub(n, m), operator.sub(x, y), operator.sub(e, e2)
truediv  operator.truediv(n, m), operator.truediv(x, m), attempt(operator.truediv, n, 0)
truth  operator.truth(n), operator.truth([]), operator.truth(obj)
xor  operator.xor(n, m), operator.xor(e, e2)
""",
    "itertools": """
accumulate  list(itertools.accumulate(l)), list(itertools.accumulate(l, operator.mul, initial=n)), list(itertools.accumulate(lx, lambda a, z: a + z))
chain  list(itertools.chain(l, s)), list(itertools.chain.from_iterable([l, p])), sum(itertools.chain(lx))
combinations  list(itertools.combinations(l, 2)), [a + z for a, z in itertools.combinations(lx, 2)], attempt(itertools.combinations, l, -1)
combinations_with_replacement  list(itertools.combinations_with_replacement(l, 2))
compress  list(itertools.compress(s, l)), list(itertools.compress(lx, [0, 1]))
count  next(itertools.count(n)), [a for a, z in zip(itertools.count(1, 2), l)], attempt(itertools.count, s)
cycle  made = itertools.cycle(l); [next(made) for index in range(5)]
dropwhile  list(itertools.dropwhile(lambda value: value > 2, l))
filterfalse  list(itertools.filterfalse(None, [0, n])), list(itertools.filterfalse(lambda value: value > 2, l))
groupby  [(key, list(group)) for key, group in itertools.groupby(sorted(words, key=len), key=len)], [key for key, group in itertools.groupby([1, 1, 2])]
islice  list(itertools.islice(l, 2)), list(itertools.islice(itertools.count(), 1, n, 2)), attempt(itertools.islice, l, -1)
pairwise  list(itertools.pairwise(l)), [a - z for a, z in itertools.pairwise(lx)]
permutations  list(itertools.permutations(l, 2)), len(list(itertools.permutations(l)))
product  list(itertools.product(l, t)), list(itertools.product(l2, repeat=2)), [a * z for a, z in itertools.product(lx, [1, 2])]
repeat  list(itertools.repeat(n, 2)), list(map(pow, l, itertools.repeat(2))), sum(itertools.repeat(x, 2))
starmap  list(itertools.starmap(pow, [(2, n)])), list(itertools.starmap(lambda a, z: a * z, zip(lx, l)))
takewhile  list(itertools.takewhile(lambda value: value > 2, l))
tee  first, second = itertools.tee(l); next(first), list(second), list(first)
zip_longest  list(itertools.zip_longest(l, s, fillvalue=n)), list(itertools.zip_longest(l, [x]))
""",
    "functools": """
WRAPPER_ASSIGNMENTS  functools.WRAPPER_ASSIGNMENTS
WRAPPER_UPDATES  functools.WRAPPER_UPDATES
cache
    @functools.cache
    def slow(value):
        return value * 2
    ---
    slow(n), slow(n), slow(m), attempt(slow, l)
cached_property
    class Local:
        def __init__(self, side):
            self.side = side
        @functools.cached_property
        def area(self):
            return self.side * self.side
    ---
    made = Local(n)
    held = Local(x)
    made.area, made.area, held.area, held.area is held.area
cmp_to_key  sorted(l, key=functools.cmp_to_key(lambda a, z: z - a))
lru_cache
    @functools.lru_cache(maxsize=2)
    def slow(value, scale=1):
        return value * scale
    ---
    slow(n), slow(n, scale=2), slow(n)
lru_cache (on tensors)
    @functools.lru_cache
    def slow(size):
        return torch.arange(size)
    ---
    slow(3) + x, slow(3) is slow(3)
lru_cache (cache_info)
    @functools.lru_cache
    def slow(value):
        return value * 2
    ---
    slow(n)
    slow.cache_info().maxsize
partial  functools.partial(double, n)(), functools.partial(pow, 2)(n), functools.partial(torch.add, x)(y), functools.partial(double, value=x)()
partialmethod
    class Local:
        def scaled(self, value, scale):
            return value * scale
        doubled = functools.partialmethod(scaled, scale=2)
    ---
    Local().doubled(n), Local().doubled(x)
reduce  functools.reduce(operator.add, l), functools.reduce(lambda a, z: a * z, lx, n), attempt(functools.reduce, operator.add, [])
singledispatch
    @functools.singledispatch
    def show(value):
        return "object"
    @show.register
    def _(value: int):
        return "int"
    @show.register(list)
    def _(value):
        return "list"
    @show.register(torch.Tensor)
    def _(value):
        return value + 1
    ---
    show(n), show(l), show(s), show(x), show(flag)
singledispatchmethod
    class Local:
        @functools.singledispatchmethod
        def show(self, value):
            return "object"
        @show.register
        def _(self, value: int):
            return value + 1
    ---
    Local().show(n), Local().show(s)
total_ordering
    @functools.total_ordering
    class Size:
        def __init__(self, value):
            self.value = value
        def __eq__(self, other):
            return self.value == other.value
        def __lt__(self, other):
            return self.value < other.value
    ---
    Size(n) > Size(m), Size(n) >= Size(n), Size(n) <= Size(m)
update_wrapper  made = functools.update_wrapper(lambda value: double(value), double); made.__name__, made(n), made.__wrapped__ is double
wraps
    def doubling(inner):
        @functools.wraps(inner)
        def outer(*arguments):
            return inner(*arguments) * 2
        return outer
    @doubling
    def half(value):
        return value / 2
    ---
    half(x), half.__name__, doubling(double)(n), doubling(double).__name__
""",
    "collections": """
ChainMap  made = collections.ChainMap({}, d); made["z"] = x; made["a"], list(made), len(made), dict(made)
Counter  made = collections.Counter(s); made["l"], made.total(), collections.Counter(l) + collections.Counter(l2)
OrderedDict  made = collections.OrderedDict(a=1); made["z"] = x; made.move_to_end("a"); list(made), made
UserDict  made = collections.UserDict(d); made["z"] = x; "a" in made, len(made), made.data
UserList  made = collections.UserList(l); made.append(x); len(made), made[0]
UserString  made = collections.UserString(s); made.upper().data, len(made), made + t, us.lower() == "hello world"
defaultdict  made = collections.defaultdict(list); made["a"].append(x); made["b"]; len(made), made
deque  made = collections.deque(l, maxlen=3); made.append(x); made.popleft(), len(made), made
namedtuple
    Pair = collections.namedtuple("Pair", "left right", defaults=[5])
    ---
    made = Pair(n, x)
    made.left, made._replace(left=m), Pair(1)._asdict(), Pair._make(l2), made[0], Pair._fields, attempt(Pair), repr(Pair(1))
namedtuple (made inside)  Pair = collections.namedtuple("Pair", "left right"); Pair(n, x).right
""",
    "copy": """
Error  issubclass(copy.Error, Exception), str(copy.Error(s))
copy (of an instance)  copy.copy(obj)
copy (of an instance made inside)  copy.copy(Point(n, x)).b
copy  copy.copy(l), copy.copy(d), copy.copy(p), copy.copy(e), copy.copy(lx)[0] is lx[0], copy.copy([x])[0] is x
copy (of an instance with slots)
    class Slotted:
        __slots__ = ("a", "b")
    ---
    made = Slotted()
    made.a = x
    copied = copy.copy(made)
    copied.a is made.a, hasattr(copied, "b"), made.__getstate__()
copy (of a list's and a dict's subclass)
    class Items(list):
        pass
    class Table(dict):
        pass
    ---
    made, table = Items(l), Table(d)
    made.origin = n
    copied, other = copy.copy(made), copy.copy(table)
    copied, copied.origin, type(other), other == table
copy (of a tensor)  copy.copy(x)
copy (with __copy__)
    class Local:
        def __init__(self, value):
            self.value = value
        def __copy__(self):
            return Local(self.value + 1)
    ---
    copy.copy(Local(n)).value
deepcopy  copy.deepcopy(l), copy.deepcopy(d), copy.deepcopy([[n], {s: l}]), copy.deepcopy(p)
deepcopy (of a set)  copy.deepcopy(e)
deepcopy (of an instance)  made = copy.deepcopy(obj); made == obj, made is obj
deepcopy (of a tensor)  copy.deepcopy(x)
deepcopy (with __deepcopy__)
    class Local:
        def __init__(self, value):
            self.value = value
        def __deepcopy__(self, memo):
            return Local(copy.deepcopy(self.value, memo))
    ---
    copy.deepcopy(Local([n])).value
""",
    "heapq": """
heapify  heapq.heapify(l); made = [n, m, 1]; heapq.heapify(made); l, made, attempt(heapq.heapify, n)
heappop  heapq.heappop(l2), heapq.heappop([1, 2, n]), l2, attempt(heapq.heappop, [])
heappush  heapq.heappush(l2, 0); made = []; heapq.heappush(made, (n, s)); heapq.heappush(made, (m, t)); l2, made
heappushpop  heapq.heappushpop(l2, n), heapq.heappushpop([], n), l2
heapreplace  heapq.heapreplace(l2, n), l2, attempt(heapq.heapreplace, [], n)
merge  list(heapq.merge(l2, rg)), list(heapq.merge([3, 1], [2], reverse=True)), list(heapq.merge(l2, rg, key=lambda value: value))
nlargest  heapq.nlargest(2, l), heapq.nlargest(2, words, key=len)
nlargest (of one)  heapq.nlargest(1, l)
nsmallest  heapq.nsmallest(2, l), heapq.nsmallest(2, words, key=len)
nsmallest (of one)  heapq.nsmallest(1, l)
""",
    "bisect": """
bisect  bisect.bisect(l2, 1), bisect.bisect([1, 2, n], m), attempt(bisect.bisect, l2, s)
bisect_left  bisect.bisect_left(l2, 1), bisect.bisect_left(words, 3, key=len)
bisect_right  bisect.bisect_right(l2, 1), bisect.bisect_right(l2, 1, 0, 1)
insort  bisect.insort(l2, 0); made = [1, n]; bisect.insort(made, m); l2, made
insort_left  bisect.insort_left(l2, 1); l2
insort_right  bisect.insort_right(l2, 1); made = []; bisect.insort_right(made, m, key=lambda value: -value); l2, made
""",
    "contextlib": """
AbstractAsyncContextManager  issubclass(contextlib.aclosing, contextlib.AbstractAsyncContextManager)
AbstractContextManager
    class Local(contextlib.AbstractContextManager):
        def __exit__(self, *error):
            self.left = error[0]
    ---
    with Local() as made:
        z = x + 1
    made.left, z, isinstance(made, contextlib.AbstractContextManager)
AsyncExitStack
    async def use(value):
        async with contextlib.AsyncExitStack() as stack:
            got = stack.enter_context(contextlib.nullcontext(value))
        return got
    ---
    run(use(n))
ContextDecorator
    class Local(contextlib.ContextDecorator):
        def __enter__(self):
            return self
        def __exit__(self, *error):
            return False
    @Local()
    def inner(value):
        return value * 2
    ---
    inner(x), inner(n)
ExitStack
    found = []
    with contextlib.ExitStack() as stack:
        stack.callback(found.append, n)
        inside = stack.enter_context(contextlib.nullcontext(l))
        stack.push(lambda *error: found.append(error[0]))
        z = x + inside[0]
    found, z
aclosing
    async def numbers(limit):
        for number in range(limit):
            yield number
    async def use(limit):
        async with contextlib.aclosing(numbers(limit)) as values:
            return [value async for value in values]
    ---
    run(use(m))
asynccontextmanager
    @contextlib.asynccontextmanager
    async def held(value):
        yield value + 1
    async def use(value):
        async with held(value) as got:
            return got
    ---
    run(use(n))
chdir
    with contextlib.chdir("/"):
        found = os.getcwd()
    found
closing
    class Door:
        def close(self):
            self.closed = True
    ---
    made = Door()
    with contextlib.closing(made) as door:
        z = x + 1
    made.closed, door is made, z
contextmanager
    @contextlib.contextmanager
    def held(values, value):
        values.append(value)
        try:
            yield value * 2
        except KeyError:
            values.append("caught")
        finally:
            values.append("left")
    ---
    with held(l, n) as got:
        z = x * got
    with held(l, m):
        d["z"]
    l, z
nullcontext
    with contextlib.nullcontext() as nothing, contextlib.nullcontext(n) as got:
        z = x + got
    nothing, z
redirect_stderr
    with contextlib.redirect_stderr(io.StringIO()) as text:
        z = x + 1
    text.getvalue(), z
redirect_stdout
    with contextlib.redirect_stdout(io.StringIO()) as text:
        print(n)
    text.getvalue()
suppress
    found = []
    with contextlib.suppress(KeyError, IndexError):
        found.append(1)
        d["z"]
        found.append(2)
    found
""",
    "dataclasses": """
FrozenInstanceError
    @dataclasses.dataclass(frozen=True)
    class Size:
        width: int
    ---
    made = Size(n)
    attempt(setattr, made, "width", 1), attempt(delattr, made, "width"), made
Field
    @dataclasses.dataclass
    class Size:
        width: int = 3
    ---
    isinstance(dataclasses.fields(Size)[0], dataclasses.Field), Size.__dataclass_fields__["width"].default
InitVar
    @dataclasses.dataclass
    class Size:
        width: int
        scale: dataclasses.InitVar[int] = 2
        def __post_init__(self, scale):
            self.width = self.width * scale
    ---
    Size(n), Size(x, 3).width
KW_ONLY
    @dataclasses.dataclass
    class Size:
        width: int
        _: dataclasses.KW_ONLY
        height: int = 2
    ---
    Size(n, height=m), attempt(Size, 1, 2)
MISSING
    @dataclasses.dataclass
    class Size:
        width: int
    ---
    dataclasses.fields(Size)[0].default is dataclasses.MISSING
asdict
    @dataclasses.dataclass
    class Size:
        width: int
        parts: list
    ---
    dataclasses.asdict(Size(n, [Size(m, [])])), dataclasses.asdict(Size(s, l), dict_factory=dict)
asdict (of tensors)
    @dataclasses.dataclass
    class Size:
        width: object
    ---
    dataclasses.asdict(Size(x))
astuple
    @dataclasses.dataclass
    class Size:
        width: int
        parts: list
    ---
    dataclasses.astuple(Size(n, [m]))
dataclass
    @dataclasses.dataclass(order=True)
    class Size:
        width: int
        height: int = 2
    ---
    made = Size(n)
    made.height = m
    made, Size(n) == Size(n, 2), Size(1) < Size(2), attempt(Size), Size(x).width + 1
dataclass (repr)
    @dataclasses.dataclass
    class Size:
        width: int
    ---
    repr(Size(n)), f"{Size(m)}"
dataclass (made inside)
    @dataclasses.dataclass
    class Size:
        width: int
    Size(n).width
dataclass (from outside)
    @dataclasses.dataclass
    class Size:
        width: int
        height: object
    def f(x, size):
        size.width += 1
        return x * size.width + size.height, size == size
    def inputs():
        return torch.ones(3), Size(2, torch.ones(3))
field
    @dataclasses.dataclass
    class Size:
        width: int
        parts: list = dataclasses.field(default_factory=list)
        area: int = dataclasses.field(init=False, repr=False, compare=False, default=0)
    ---
    first, second = Size(n), Size(n)
    first.parts.append(x)
    first, second.parts, dataclasses.field(default=1).default
fields
    @dataclasses.dataclass
    class Size:
        width: int
        height: int = 2
    ---
    [field.name for field in dataclasses.fields(Size)], [getattr(Size(n), field.name) for field in dataclasses.fields(Size(n))]
is_dataclass
    @dataclasses.dataclass
    class Size:
        width: int
    ---
    dataclasses.is_dataclass(Size), dataclasses.is_dataclass(Size(n)), dataclasses.is_dataclass(n)
make_dataclass  dataclasses.make_dataclass("Size", ["width"])(n).width
replace
    @dataclasses.dataclass(frozen=True)
    class Size:
        width: int
        height: int = 2
    ---
    dataclasses.replace(Size(n), height=m), attempt(dataclasses.replace, Size(n), depth=1), dataclasses.replace(Size(x), height=1).width
""",
}

_ENUMS = """
class Color(enum.Enum):
    RED = 1
    GREEN = 2
    def mixed(self, other):
        return self.value + other.value
class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2
class Word(enum.StrEnum):
    YES = enum.auto()
    NO = "no"
class Access(enum.Flag):
    READ = 1
    WRITE = 2
    BOTH = 3
class Bits(enum.IntFlag):
    ONE = 1
    TWO = 2
---
$code
"""

LIBRARY["enum"] = _in(
    _ENUMS,
    """
CONFORM  enum.CONFORM is enum.FlagBoundary.CONFORM
CONTINUOUS  enum.CONTINUOUS is enum.EnumCheck.CONTINUOUS
EJECT  enum.EJECT.value
Enum  Color.RED, Color(2), Color["RED"], Color.RED.name, Color.GREEN.value, Color.RED.mixed(Color.GREEN), list(Color), len(Color), Color.RED in Color
Enum (lookup that fails)  attempt(Color, 9), attempt(lambda: Color["BLUE"]), attempt(lambda: Color.BLUE)
Enum (compared)  Color.RED is Color.RED, Color.RED == 1, {Color.RED: x}[Color.RED], hash(Color.RED) == hash(Color.RED), str(Color.RED), repr(Color.RED)
EnumCheck  list(enum.EnumCheck)
EnumMeta  type(Color) is enum.EnumMeta, Color.__members__["RED"], Color.__contains__(Color.RED)
EnumType  isinstance(Color, enum.EnumType), [name for name in Color.__members__], list(reversed(Color))
Flag  Access.READ | Access.WRITE, Access.READ & Access.WRITE, Access.BOTH ^ Access.READ, ~Access.READ, Access.READ in Access.BOTH, list(Access.BOTH)
Flag (other)  bool(Access.READ & Access.WRITE), Access(3), Access(0).name, (Access.READ | Access.WRITE).name, len(Access.BOTH), attempt(Access, 99)
FlagBoundary  list(enum.FlagBoundary)
IntEnum  Level.LOW + n, Level(2), Level["LOW"], Level.LOW < Level.HIGH, Level.LOW == 1, [x * level for level in Level], f"{Level.LOW}", max(Level)
IntFlag  Bits.ONE | Bits.TWO, Bits.ONE | 4, Bits(3), Bits.ONE + n, ~Bits.ONE, list(Bits.ONE | Bits.TWO)
KEEP  enum.KEEP.value
NAMED_FLAGS  enum.NAMED_FLAGS.value
ReprEnum  issubclass(Level, enum.ReprEnum)
STRICT  enum.STRICT.value
StrEnum  Word.YES, Word("no"), Word["YES"], Word.YES == "yes", Word.YES.upper(), f"{Word.NO}", d.get(Word.NO, n), "".join([Word.YES, Word.NO])
UNIQUE  enum.UNIQUE.value
auto  Word.YES.value, enum.auto().value
global_enum  enum.global_enum.__name__
global_enum_repr  enum.global_enum_repr(Color.RED)
global_flag_repr  enum.global_flag_repr(Bits.ONE)
global_str  enum.global_str(Color.RED)
member  enum.member(n).value
nonmember  enum.nonmember(n).value
pickle_by_enum_name  enum.pickle_by_enum_name(Color.RED, 2)
pickle_by_global_name  enum.pickle_by_global_name(Color.RED, 2)
property  Color.RED.name, Color.RED.value, type(Color.__dict__["RED"]).__name__
unique  enum.unique(Color) is Color
verify  enum.verify(enum.UNIQUE)(Color) is Color
""",
)

_MATH = {
    "acos": "0.5", "acosh": "r", "asin": "0.5", "asinh": "r", "atan": "r", "atanh": "q", "cbrt": "r", "ceil": "r", "cos": "r",
    "cosh": "r", "degrees": "r", "erf": "r", "erfc": "r", "exp": "r", "exp2": "r", "expm1": "r", "fabs": "q", "factorial": "n",
    "floor": "q", "frexp": "r", "gamma": "r", "isfinite": "r", "isinf": "r", "isnan": "r", "isqrt": "n", "lgamma": "r",
    "log": "r", "log10": "r", "log1p": "r", "log2": "r", "modf": "r", "radians": "r", "sin": "r", "sinh": "r", "sqrt": "r",
    "tan": "r", "tanh": "r", "trunc": "r", "ulp": "r",
    "atan2": "r, q", "comb": "n, m", "copysign": "r, q", "dist": "l2, [3, 4]", "fmod": "r, q", "fsum": "l", "gcd": "n, m, 14",
    "hypot": "r, q", "isclose": "r, q", "lcm": "n, m", "ldexp": "r, m", "nextafter": "r, q", "perm": "n, m", "pow": "r, m",
    "prod": "l", "remainder": "r, q",
}  # fmt: skip
LIBRARY["math"] = "\n".join(
    f"{name}  math.{name}({arguments}), attempt(math.{name}, s), x * 1.0 + (math.{name}({arguments}) is None)"
    for name, arguments in _MATH.items()
)
LIBRARY["math"] += "\n" + "\n".join(f"{name}  math.{name}, x * math.{name}" for name in ("e", "inf", "nan", "pi", "tau"))
LIBRARY["math"] += """
factorial (errors)  attempt(math.factorial, neg), attempt(math.sqrt, neg), attempt(math.log, 0), attempt(math.exp, 1e9)
ceil (of an instance)
    class Local:
        def __ceil__(self):
            return 4
    ---
    math.ceil(Local())
"""

LIBRARY["torch.nn.modules.container"] = """
Container  isinstance(seq, torch.nn.Container)
Sequential  seq(x), seq[0].weight.sum(), torch.nn.Sequential(collections.OrderedDict(a=torch.nn.ReLU()))(x)
ModuleList  [layer(x) for layer in ml], ml[0].bias + 1, len(ml)
ModuleDict  {name: layer(x) for name, layer in md.items()}, md["a"].bias + 1, md.a.weight.sum()
ParameterList  [parameter * x for parameter in pl], len(pl)
ParameterDict  {name: parameter * x for name, parameter in pd.items()}, pd.a + 1
"""

FEATURES = {
    "functions": """
closures
    def make(scale):
        calls = 0
        def inner(value):
            nonlocal calls
            calls += 1
            return value * scale + calls
        return inner
    ---
    made = make(n)
    made(x), made(m), made.__closure__[0].cell_contents
closures (returned)
    scale = n
    values = [x]
    def inner(value):
        values.append(value)
        return value * scale
    inner, inner(x)
closures (late binding)  made = [lambda: index for index in range(3)]; [inner() for inner in made]
closures (from outside)
    def make(scale):
        def inner(value):
            nonlocal scale
            scale += 1
            return value * scale
        return inner
    def f(x, inner):
        return inner(x) + inner(x)
    def inputs():
        return torch.ones(3), make(3)
nonlocal in nested functions
    total = 0
    def outer():
        def inner():
            nonlocal total
            total += n
        inner()
        return inner
    outer()()
    total
lambda defaults  made = lambda value, scale=n, *, bias=m: value * scale + bias; made(x), made(1, 2, bias=0), made.__defaults__
default mutable arguments
    def grow(value, held=[]):
        held.append(value)
        return len(held)
    ---
    grow(n), grow(x)
keyword-only and positional-only parameters
    def mixed(a, /, b, *, scale=2):
        return a + b * scale
    ---
    mixed(n, m), mixed(n, b=x, scale=3), attempt(mixed, a=1, b=2), attempt(mixed, 1, 2, 3)
forwarding *args and **kwargs
    def inner(*arguments, **keywords):
        return arguments, keywords
    def outer(*arguments, **keywords):
        return inner(n, *arguments, last=m, **keywords)
    ---
    inner(*l, **d), inner(*p, z=x), (lambda *arguments, **keywords: inner(*arguments, **keywords))(n, a=x)
forwarding *args and **kwargs (of the captured function)
    def inner(a, b=1, **keywords):
        return a * b, keywords
    def f(*arguments):
        return inner(*arguments, scale=2), len(arguments)
    def inputs():
        return torch.ones(3), 4
wrong arguments  attempt(double), attempt(double, 1, 2), attempt(double, other=1), attempt(lambda *, a: a), attempt(double, 1, value=2)
decorators
    def twice(inner):
        def outer(*arguments, **keywords):
            return inner(*arguments, **keywords) * 2
        return outer
    def scaled(scale):
        def decorate(inner):
            @functools.wraps(inner)
            def outer(value):
                return inner(value) * scale
            return outer
        return decorate
    @twice
    @scaled(3)
    def target(value):
        return value + 1
    ---
    target(x), target(n), target.__name__
decorators (applied inside)
    def twice(inner):
        return lambda value: inner(value) * 2
    ---
    @twice
    def target(value):
        return value + 1
    target(x), target(n)
recursion
    def power(value, times):
        return value if times == 0 else power(value * 2, times - 1)
    ---
    power(x, m), power(n, 2)
recursion (mutual, over a tree)
    def total(tree):
        return sum(map(branch, tree))
    def branch(part):
        return total(part) if isinstance(part, list) else part
    ---
    total([n, [m, [x]]])
global statement
    count = 0
    def f(x):
        global count
        count += 1
        return x * count
inspect.signature  str(inspect.signature(double)), list(inspect.signature(Point).parameters), inspect.signature(double).bind(n).arguments
functions as values  table = {"double": double, "abs": abs}; table["double"](x), [call(n) for call in table.values()], sorted(words, key=str.lower)
callable instances
    class Scale:
        def __init__(self, scale):
            self.scale = scale
            self.calls = 0
        def __call__(self, value):
            self.calls += 1
            return value * self.scale
    ---
    made = Scale(n)
    made(x), made(m), made.calls, list(map(made, lx))
function attributes
    def marked(value):
        return value * marked.scale
    marked.scale = 3
    ---
    marked(x), marked.scale
function attributes (written)
    def marked(value):
        marked.calls = getattr(marked, "calls", 0) + 1
        return value * 2
    ---
    marked(x), marked.calls
annotations
    size: int = n
    def typed(value: "Point", scale: int | None = None) -> list[int]:
        kind: str = "a"
        return [value, scale, kind]
    typed(size), typed.__annotations__
""",
    "generators and comprehensions": """
generators  list(counting(m)), sum(value * 2 for value in l), max(counting(n)), dict(enumerate(counting(m)))
generators (send)
    def total():
        found = 0
        while True:
            value = yield found
            if value is None:
                return found
            found += value
    ---
    made = total()
    next(made)
    made.send(n)
    made.send(m)
    attempt(made.send, None)
generators (throw)
    def patient(held):
        while True:
            try:
                yield 1
            except ValueError as error:
                held.append(str(error))
            finally:
                held.append("left")
    ---
    made = patient(l)
    next(made)
    made.throw(ValueError("bad")), l, attempt(made.throw, KeyError("z")), attempt(next, made)
generators (close)
    def guarded(held):
        try:
            yield 1
            yield 2
        finally:
            held.append("closed")
    ---
    made = guarded(l)
    next(made)
    made.close()
    l, attempt(next, made)
generators (yield from)
    def inner():
        got = yield 1
        return got
    def outer(held):
        held.append((yield from inner()))
        yield from [5, 6]
        yield from (value for value in "ab")
    ---
    made = outer(l)
    next(made), made.send(n), list(made), l
generators (return value)
    def inner(value):
        yield value
        return value * 2
    def outer(value):
        found = yield from inner(value)
        yield found
    ---
    list(outer(n)), list(outer(x))
generators (returned unfinished)  made = counting(n); next(made); made
generators (from outside)
    def numbers(limit):
        for number in range(limit):
            yield number
    def f(x, made):
        return x * next(made), next(made)
    def inputs():
        return torch.ones(3), numbers(4)
generators (that raise)
    def broken(value):
        yield value
        raise ValueError(value)
    ---
    made = broken(n)
    next(made), attempt(next, made), attempt(list, broken(m))
generators (StopIteration inside)
    def broken():
        yield next(iter([]))
    ---
    attempt(list, broken())
comprehension scopes
    value = n
    found = [value for value in l if value > 1], {value: value * n for value in l}, {value % 2 for value in l}
    found, value, [[a * z for a in range(2)] for z in l], [(a, z) for a in l for z in range(a) if z]
comprehensions over tensors  [row * 2 for row in x], [a + z for a, z in zip(x, y)], sum(row for row in x)
generator expressions  any(value > 2 for value in l), ",".join(str(value) for value in l), sorted((value for value in d), reverse=True)
walrus  [half for value in l if (half := value // 2)], (count := n) + count, half
coroutines driven by hand
    async def inner(value):
        return await Ready(value) * 2
    async def outer(value):
        return await inner(value) + await inner(value)
    ---
    run(outer(n)), run(outer(x))
""",
    "contexts": """
contextmanager
    @contextlib.contextmanager
    def scaled(value):
        yield value * 2
    ---
    with scaled(x) as z, scaled(n) as k:
        found = z * k
    found
contextmanager (with state)
    depth = []
    @contextlib.contextmanager
    def level(name):
        depth.append(name)
        try:
            yield len(depth)
        finally:
            depth.pop()
    ---
    with level("a") as first:
        with level("b") as second:
            found = list(depth)
    first, second, found, depth
contextmanager (as a decorator)
    @contextlib.contextmanager
    def quiet():
        with torch.no_grad():
            yield
    @quiet()
    def inner(value):
        return value * 2, torch.is_grad_enabled()
    ---
    inner(x)
contextmanager (that swallows)
    @contextlib.contextmanager
    def swallow(kind):
        try:
            yield
        except kind:
            pass
    ---
    with swallow(KeyError):
        d["z"]
    n
ExitStack
    found = []
    with contextlib.ExitStack() as stack:
        for value in l:
            stack.callback(found.append, value)
        stack.enter_context(contextlib.suppress(KeyError))
        d["z"]
    found
ExitStack (pop_all)
    found = []
    with contextlib.ExitStack() as stack:
        stack.callback(found.append, 1)
        kept = stack.pop_all()
    kept.close()
    found
suppress
    with contextlib.suppress(ZeroDivisionError):
        n / 0
    with contextlib.suppress(KeyError):
        value = d["a"]
    value
nullcontext
    with contextlib.nullcontext(x) as z:
        z = z + 1
    z
closing
    class Door:
        closed = False
        def close(self):
            self.closed = True
    ---
    with contextlib.closing(Door()) as door:
        found = door.closed
    found, door.closed
redirect_stdout
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        print("inside", n)
    text.getvalue()
own context managers
    class Level:
        def __init__(self, held, name):
            self.held, self.name = held, name
        def __enter__(self):
            self.held.append("+" + self.name)
            return self.name
        def __exit__(self, kind, error, traceback):
            self.held.append((self.name, kind and kind.__name__, str(error)))
            return kind is KeyError
    ---
    with Level(l, "a") as first, Level(l, "b"):
        d["z"]
    try:
        with Level(l, "c"):
            n / 0
    except ZeroDivisionError:
        l.append("left")
    l
own context managers (from outside)
    class Level:
        inside = 0
        def __enter__(self):
            self.inside += 1
            return self
        def __exit__(self, *error):
            self.inside -= 1
    def f(x, level):
        with level as same:
            found = x * level.inside
        return found, same is level
    def inputs():
        return torch.ones(3), Level()
hooks on gradients
    def f(x, weight):
        y = x * weight
        y.register_hook(lambda gradient: gradient * 2)
        weight.register_hook(lambda gradient: gradient + 1)
        return (y * y).sum()
    def inputs():
        return torch.ones(3), torch.ones(3, requires_grad=True)
versions of tensors
    z = x + 1
    before = z._version
    z.add_(1)
    z._version - before, x._version
torch function modes
    class Counting(torch.overrides.TorchFunctionMode):
        def __init__(self):
            super().__init__()
            self.heard = []
        def __torch_function__(self, function, types, args=(), kwargs=None):
            self.heard.append(function.__name__)
            return function(*args, **(kwargs or {}))
    ---
    with Counting() as outer, torch.overrides.BaseTorchFunctionMode(), Counting() as inner:
        z = torch.nn.functional.relu(x) + x.shape[0] + len(x) - 1
    z, outer.heard, inner.heard, torch._C._len_torch_function_stack()
torch function modes (other answers, errors)
    class Doubling(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            if function is torch.cos:
                raise ValueError("no cosine")
            return function(*args, **(kwargs or {})) * 2
    ---
    try:
        with Doubling():
            z = torch.sin(x)
            torch.cos(x)
    except ValueError as error:
        found = str(error)
    z, found, torch.cos(x)
tensors of a class (methods, properties, attributes)
    class Named(torch.Tensor):
        unit = "m"
        @property
        def half(self):
            return self / 2
        @classmethod
        def of(cls, x):
            return x.as_subclass(cls)
    ---
    s = Named(x)
    y = Named.of(x) + s
    y.tag = s.unit
    type(y) is Named, y.half.as_subclass(torch.Tensor), y.tag, y.shape, len(s), isinstance(s, Named)
tensors that wrap tensors (as inputs)
    class Kept(torch.Tensor):
        def __new__(cls, inner):
            return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
        def __init__(self, inner):
            self.inner = inner
        def __repr__(self):
            return f"Kept({self.inner})"
        def __tensor_flatten__(self):
            return ["inner"], None
        @classmethod
        def __tensor_unflatten__(cls, tensors, context, size, stride):
            return cls(tensors["inner"])
        __torch_function__ = torch._C._disabled_torch_function_impl
        @classmethod
        def __torch_dispatch__(cls, function, types, args, kwargs=None):
            inner = torch.utils._pytree.tree_map_only(cls, lambda one: one.inner, args)
            result = function(*inner, **(kwargs or {}))
            return cls(result) if function is torch.ops.aten.sin.default else result
    kept = Kept(torch.ones(3))
    ---
    y = torch.sin(kept)
    type(y) is Kept, y + 1, kept.inner * 2, kept.shape, isinstance(y, torch.Tensor)
tensors that wrap tensors (made inside)
    class Kept(torch.Tensor):
        def __new__(cls, inner):
            return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
        def __init__(self, inner):
            self.inner = inner
        def __repr__(self):
            return f"Kept({self.inner})"
        def __tensor_flatten__(self):
            return ["inner"], None
        @classmethod
        def __tensor_unflatten__(cls, tensors, context, size, stride):
            return cls(tensors["inner"])
        __torch_function__ = torch._C._disabled_torch_function_impl
        @classmethod
        def __torch_dispatch__(cls, function, types, args, kwargs=None):
            inner = torch.utils._pytree.tree_map_only(cls, lambda one: one.inner, args)
            result = function(*inner, **(kwargs or {}))
            return cls(result) if function is torch.ops.aten.sin.default else result
    ---
    kept = Kept(x * 2)
    y = torch.sin(kept)
    type(y) is Kept, y + 1, y.inner * 2, kept.inner + 1, kept.shape, isinstance(y, torch.Tensor)
tensors of a class (overrides)
    class Swapped(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            if function is torch.add:
                function = torch.mul
            return super().__torch_function__(function, types, args, kwargs or {})
    ---
    s = (x * 3).as_subclass(Swapped)
    y = torch.add(s, x)
    with torch._C.DisableTorchFunctionSubclass():
        z = torch.add(s, x)
    type(y) is Swapped, y.as_subclass(torch.Tensor), type(z) is torch.Tensor, z
objects with a __torch_function__
    class Column:
        def __init__(self, value):
            self.value = value
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            return function(*[getattr(arg, "value", arg) for arg in args], **(kwargs or {}))
    ---
    torch.add(Column(x), 1), torch.nn.functional.relu(Column(x))
torch.device as a context
    with torch.device("meta"):
        z = torch.ones(3)
    with torch.device("cpu"):
        k = torch.ones(3)
    z.device, z.shape, k + 1
torch modes
    with torch.no_grad(), torch.autocast("cpu", enabled=False):
        z = x + 1
    with torch.inference_mode(False), torch.set_grad_enabled(flag):
        k = x * 2
    z, k, torch.is_grad_enabled()
""",
    "classes": """
class made inside
    class Made:
        size = 3
        def area(self):
            return self.size * n
    Made().area(), Made.size
class made inside (with bases)
    class Made(Point):
        def total(self):
            return super().total() + 1
    Made(1, 2).total()
instances made inside  made = Point(n, x); made.c = [made.a]; made, made.total, made.c
instances returned  Point(n, x * 2), [Point(m, s)]
attributes (getattr hook)
    class Local:
        def __init__(self):
            self.real = 1
        def __getattr__(self, name):
            if name == "missing":
                raise AttributeError(name)
            return name.upper()
    ---
    made = Local()
    made.real, made.other, getattr(made, "missing", n), hasattr(made, "missing")
attributes (getattribute hook)
    class Local:
        def __init__(self):
            self.value = 1
        def __getattribute__(self, name):
            return object.__getattribute__(self, name) if name.startswith("_") else object.__getattribute__(self, "value") + 1
    ---
    made = Local()
    made.value, made.other
attributes (setattr hook)
    class Local:
        def __setattr__(self, name, value):
            object.__setattr__(self, name, value * 2)
        def __delattr__(self, name):
            object.__setattr__(self, name, None)
    ---
    made = Local()
    made.value = x
    made.other = n
    del made.other
    made.value, made.other
attributes (hooks of an object from outside)
    class Local:
        def __init__(self):
            self.held = {}
        def __getattr__(self, name):
            return self.held[name]
        def set(self, name, value):
            self.held[name] = value
    def f(x, made):
        made.set("a", x * 2)
        return made.a + made.b
    def inputs():
        made = Local()
        made.set("b", torch.ones(3))
        return torch.ones(3), made
slots
    class Slotted:
        __slots__ = ("a", "b")
        def __init__(self, a):
            self.a = a
    ---
    made = Slotted(n)
    made.b = x
    made, attempt(setattr, made, "c", 1), attempt(lambda: Slotted(1).b)
slots (from outside)
    class Slotted:
        __slots__ = ("a",)
        def __init__(self, a):
            self.a = a
    def f(x, made):
        made.a = x * made.a
        return made.a + 1
    def inputs():
        return torch.ones(3), Slotted(2)
descriptors (data)
    class Bounded:
        def __set_name__(self, owner, name):
            self.name = "_" + name
        def __get__(self, instance, owner=None):
            return self if instance is None else getattr(instance, self.name)
        def __set__(self, instance, value):
            if isinstance(value, int) and value < 0:
                raise ValueError(value)
            setattr(instance, self.name, value)
    class Local:
        size = Bounded()
    ---
    made = Local()
    made.size = n
    first = made.size
    made.size = x
    first, made.size, attempt(setattr, made, "size", -1), Local.size.name
descriptors (non-data)
    class Lazy:
        def __init__(self, make):
            self.make = make
        def __set_name__(self, owner, name):
            self.name = name
        def __get__(self, instance, owner):
            value = instance.__dict__[self.name] = self.make(instance)
            return value
    class Local:
        @Lazy
        def value(self):
            return [1]
    ---
    made = Local()
    made.value is made.value, made.value
metaclass (attribute lookup on classes)
    class Meta(type):
        size = 3
        @property
        def title(cls):
            return cls.__name__.lower()
        def make(cls, value):
            return cls.size * value
    class Local(metaclass=Meta):
        other = 4
    ---
    Local.size, Local.title, Local.make(x), Local.other, hasattr(Local(), "size")
metaclass (__call__)
    class Single(type):
        held = {}
        def __call__(cls, *arguments):
            made = super().__call__(*arguments)
            made.counted = len(arguments)
            return made
    class Local(metaclass=Single):
        def __init__(self, value):
            self.value = value
    ---
    Local(n).counted, Local(x).value
metaclass (__instancecheck__)
    class Even(type):
        def __instancecheck__(cls, value):
            return value % 2 == 0
        def __subclasscheck__(cls, other):
            return other is int
        def __getitem__(cls, index):
            return index
        def __len__(cls):
            return 3
    class Local(metaclass=Even):
        pass
    ---
    isinstance(4, Local), isinstance(n, Local), issubclass(int, Local), Local[n], len(Local)
operators of classes that hold tensors
    class Vector:
        def __init__(self, data):
            self.data = data
        def __add__(self, other):
            return Vector(self.data + (other.data if isinstance(other, Vector) else other))
        def __radd__(self, other):
            return Vector(other + self.data)
        def __sub__(self, other):
            return NotImplemented
        def __rsub__(self, other):
            return Vector(other - self.data)
        def __iadd__(self, other):
            self.data = self.data + other
            return self
        def __matmul__(self, other):
            return self.data @ other.data
        def __neg__(self):
            return Vector(-self.data)
        def __abs__(self):
            return Vector(abs(self.data))
        def __pow__(self, power):
            return Vector(self.data ** power)
        def __getitem__(self, index):
            return self.data[index]
        def __setitem__(self, index, value):
            self.data = self.data + value
        def __invert__(self):
            return self.data > 0
        def __divmod__(self, other):
            return self.data // other, self.data % other
    ---
    made = Vector(x)
    same = made
    made += 2
    made[0] = 1
    (made + same).data, (1 + made).data, (n - made).data, made is same, made @ same, (-made).data, abs(made).data, \\
        (made ** 2).data, made[0], ~made, divmod(made, 2), attempt(lambda: made - made)
comparison and hash
    class Key:
        def __init__(self, value):
            self.value = value
        def __eq__(self, other):
            return isinstance(other, Key) and self.value == other.value
        def __hash__(self):
            return hash(self.value)
        def __lt__(self, other):
            return self.value < other.value
    ---
    Key(n) == Key(n), Key(n) != Key(m), {Key(n): 1}[Key(n)], Key(m) in {Key(m), Key(n)}, sorted([Key(n), Key(m)])[0].value, [Key(n)].index(Key(n))
__index__
    class Place:
        def __index__(self):
            return 1
    ---
    l[Place()], s[Place():], list(range(Place())), hex(Place()), operator.index(Place())
__contains__, __len__ and __bool__
    class Bag:
        def __contains__(self, value):
            return value == 3
        def __len__(self):
            return 0
    class Truth:
        def __bool__(self):
            return False
    ---
    3 in Bag(), n in Bag(), bool(Bag()), 1 if Truth() else 2, len(Bag()), not Truth()
__iter__ and __next__
    class Down:
        def __init__(self, start):
            self.left = start
        def __iter__(self):
            return self
        def __next__(self):
            if not self.left:
                raise StopIteration
            self.left -= 1
            return self.left
    ---
    list(Down(m)), [value for value in Down(2)], sum(Down(n)), tuple(zip(Down(m), Down(2))), [*Down(m)], max(Down(m))
sequence protocol
    class Squares:
        def __getitem__(self, index):
            if index > 3:
                raise IndexError(index)
            return index * index
        def __len__(self):
            return 4
    ---
    list(Squares()), 9 in Squares(), [value for value in Squares()], list(reversed(Squares())), sum(Squares())
__format__, __str__ and __repr__
    class Local:
        def __format__(self, spec):
            return "<" + spec + ">"
        def __str__(self):
            return "text"
        def __repr__(self):
            return "code"
    ---
    f"{Local():abc} {Local()!s} {Local()!r}", str(Local()), repr([Local()]), "{:x}".format(Local()), "%s %r" % (Local(), Local())
__new__
    class Local:
        def __new__(cls, value):
            made = super().__new__(cls)
            made.first = value
            return made
        def __init__(self, value):
            self.second = value
    ---
    made = Local(n)
    made.first, made.second, Local(x).first
__init_subclass__ and __class_getitem__
    class Base:
        known = []
        def __init_subclass__(cls, **keywords):
            cls.known.append(cls.__name__)
        def __class_getitem__(cls, item):
            return cls, item
    class Derived(Base, flag=1):
        pass
    ---
    Base.known, Derived[n][1]
ABC
    class Shape(abc.ABC):
        @abc.abstractmethod
        def area(self):
            pass
    class Square(Shape):
        def area(self):
            return 4
    class Round:
        def area(self):
            return 3
    Shape.register(Round)
    ---
    Square().area(), isinstance(Square(), Shape), isinstance(Round(), Shape), isinstance(n, Shape), issubclass(Round, Shape), attempt(Shape)
__class__ assignment
    class Other(Point):
        kind = "other"
    ---
    made = Point(1, 2)
    made.__class__ = Other
    made.kind, type(made) is Other
__class__ assignment (from outside)
    class Other(Point):
        kind = "other"
    ---
    obj.__class__ = Other
    obj.kind
__dict__ of an instance
    made = Point(1, 2)
    made.__dict__["a"] = n
    made.__dict__.update(c=x)
    made.a, made.c, list(made.__dict__)
__dict__ of an instance from outside  obj.__dict__["a"], obj.__dict__.get("z"), {**obj.__dict__}
__dict__ of an instance from outside (written)  obj.__dict__.update(a=n, z=x); obj.a, obj.z
properties with setters
    class Local:
        def __init__(self):
            self._value = 1
        @property
        def value(self):
            return self._value
        @value.setter
        def value(self, new):
            self._value = new
        @value.deleter
        def value(self):
            self._value = None
    def f(x, made):
        made.value = x * made.value
        other = Local()
        other.value = 5
        del other.value
        return made.value, other.value
    def inputs():
        return torch.ones(3), Local()
classmethod and staticmethod
    class Local:
        size = 2
        @classmethod
        def make(cls, value):
            made = cls()
            made.value = value * cls.size
            return made
        @staticmethod
        def plain(value):
            return value + 1
    class Derived(Local):
        size = 3
    ---
    Local.make(n).value, Derived.make(x).value, Derived().plain(m), Local.plain(x)
super in all forms
    class Base:
        def __init__(self, value):
            self.value = value
        def size(self):
            return self.value
        @classmethod
        def named(cls):
            return "base " + cls.__name__
        @property
        def double(self):
            return self.value * 2
    class Derived(Base):
        def __init__(self, value):
            super().__init__(value)
        def size(self):
            return super(Derived, self).size() + super().double + (lambda: super(Derived, self).size())()
        @classmethod
        def named(cls):
            return super().named() + "!"
    ---
    Derived(n).size(), Derived.named(), super(Derived, Derived(m)).size(), Derived(x).size()
multiple inheritance
    class A:
        def name(self):
            return ["a"]
    class B(A):
        def name(self):
            return ["b"] + super().name()
    class C(A):
        def name(self):
            return ["c"] + super().name()
    class D(B, C):
        def name(self):
            return ["d"] + super().name()
    ---
    D().name(), [kind.__name__ for kind in D.__mro__], isinstance(D(), C)
name mangling
    class Local:
        __hidden = 3
        def __init__(self):
            self.__value = 4
        def read(self):
            return self.__value + self.__hidden
    ---
    made = Local()
    made.read(), made._Local__value, attempt(lambda: made.__value)
subclasses of builtin types
    class Names(list):
        def first(self):
            return self[0]
    class Table(dict):
        def __missing__(self, key):
            return key * 2
        def __getattr__(self, name):
            return self[name]
    class Pair(tuple):
        def __new__(cls, a, b):
            return super().__new__(cls, (a, b))
        @property
        def left(self):
            return self[0]
    ---
    made = Names(l)
    made.append(x)
    made.first(), len(made), Table(a=n).a, Table()["z"], Pair(n, x).left, isinstance(made, list)
subclasses of int, str, float and tuple as inputs
    class Number(int):
        def next(self):
            return self + 1
    class Name(str):
        pass
    class Part(float):
        pass
    class Pair(tuple):
        pass
    def f(x, a, b, c, d):
        return x * a + c, a.next(), b.upper(), d[0] * x, type(a) is Number, b + "!", c * 2
    def inputs():
        return torch.ones(3), Number(3), Name("ab"), Part(1.5), Pair((1, 2))
subclasses of list, dict and set as inputs
    class Names(list):
        pass
    class Table(dict):
        pass
    class Kinds(set):
        pass
    def f(x, a, b, c):
        a.append(x)
        b["z"] = x * len(a)
        c.add(5)
        a.note = 1
        return a[0] * x, b["k"] + 1, 3 in c
    def inputs():
        return torch.ones(3), Names([1]), Table(k=2), Kinds([3])
weakrefs
    made = weakref.ref(obj)
    made() is obj, made().a
weakrefs (to own objects)
    class Local:
        def __init__(self, value, parent=None):
            self.value = value
            self.parent = parent and weakref.ref(parent)
    ---
    made = Local(x)
    Local(y, made).parent().value * 2
weakrefs (to tensors)  made = weakref.ref(x); made() * 2, made() is x
weakrefs (from outside)
    class Local:
        pass
    HELD = Local()
    HELD.value = 3
    LINK = weakref.ref(HELD)
    TABLE = weakref.WeakKeyDictionary({HELD: 5})
    def f(x):
        return x * LINK().value, LINK() is HELD, TABLE[HELD]
__del__
    class Local:
        def __del__(self):
            pass
    ---
    made = Local()
    n
__getstate__ and pickling hooks
    class Local:
        def __init__(self, value):
            self.value = value
        def __reduce__(self):
            return Local, (self.value + 1,)
    ---
    copy.copy(Local(n)).value
class attributes  Point.kind, obj.kind, type(obj).kind, getattr(Point, "kind")
class attributes (written)
    class Local:
        count = 0
    ---
    Local.count += 1
    Local.count, Local().count
""",
    "library classes": """
partial  add = functools.partial(lambda a, z, scale=1: (a + z) * scale, x, scale=n); add(y), add.args[0] is x, functools.partial(add, y)()
reduce  functools.reduce(lambda held, value: {**held, value: n}, l, {}), functools.reduce(operator.mul, lx)
lru_cache
    @functools.lru_cache(None)
    def fib(value):
        return value if value < 2 else fib(value - 1) + fib(value - 2)
    ---
    fib(n), fib(m) * x
lru_cache (own)
    @functools.lru_cache(2)
    def twice(value):
        return [value * 2]
    twice(n) is twice(n), twice.cache_info(), twice.cache_clear(), twice.cache_info().hits
lru_cache (from outside, of objects)
    class Local:
        def __init__(self, size):
            self.size = size
    TABLE = functools.lru_cache(Local)
    STEPS = functools.cache(lambda table, shape: [table.size, len(shape)])
    def f(x):
        return x * STEPS(TABLE(3), x.shape)[0], TABLE(3) is TABLE(3)
lru_cache (from outside, of tensors)
    TABLE = functools.cache(lambda size: torch.arange(float(size)))
    def f(x):
        return x * TABLE(3), TABLE(3)
lru_cache (on a method)
    class Local:
        @functools.lru_cache
        def scaled(self, value):
            return value * 2
    ---
    Local().scaled(n)
cached_property (from outside)
    class Local:
        @functools.cached_property
        def value(self):
            return [1, 2]
    def f(x, made):
        return x * len(made.value), made.value is made.value
    def inputs():
        return torch.ones(3), Local()
namedtuple
    Pair = collections.namedtuple("Pair", "left right")
    def f(x, pair):
        left, right = pair
        made = pair._replace(left=right)
        return made, pair.left + x, Pair(left=x, right=2), pair == (1, 2), pair._asdict(), isinstance(pair, tuple)
    def inputs():
        return torch.ones(3), Pair(1, 2)
typing.NamedTuple
    class Pair(typing.NamedTuple):
        left: int
        right: object = None
        def total(self):
            return self.left + self.right
    ---
    Pair(n, x).total(), Pair(m), Pair(1)._fields, Pair(n, m)[1], repr(Pair(1, 2))
dataclass (frozen and slots)
    @dataclasses.dataclass(frozen=True)
    class Size:
        width: int
        def wider(self, by):
            return dataclasses.replace(self, width=self.width + by)
    @dataclasses.dataclass(slots=True)
    class Slotted:
        width: int
        held: list = dataclasses.field(default_factory=list)
    ---
    made = Slotted(n)
    made.held.append(x)
    Size(n).wider(m), hash(Size(n)) == hash(Size(n)), attempt(setattr, Size(1), "width", 2), made
dataclass (post_init and inheritance)
    @dataclasses.dataclass
    class Base:
        width: int
        def __post_init__(self):
            self.area = self.width * self.width
    @dataclasses.dataclass
    class Derived(Base):
        height: int = 1
        def __post_init__(self):
            super().__post_init__()
            self.volume = self.area * self.height
    ---
    Derived(n, m).volume, Derived(x).volume, Derived(1) == Derived(1)
OrderedDict  od["z"] = x; od.move_to_end("a"); list(od), list(reversed(od)), od.popitem(last=False), od == {"z": 1}
defaultdict  dd["q"].append(x); dd["a"].append(n); counts = collections.defaultdict(int); counts["a"] += n; dd, counts, "none" in dd
Counter  made = collections.Counter(words); made.update(["fig"]); made["fig"], made.most_common(), (cn - cn2), cn | cn2, cn & cn2, +cn
deque  dq.append(x); dq.appendleft(n); dq.rotate(1); list(dq), dq.maxlen, collections.deque(range(5), 2)
ChainMap  made = cm.new_child({"q": x}); made["q"], made["b"], list(made), dict(cm), "a" in cm, len(cm)
UserDict
    class Lower(collections.UserDict):
        def __setitem__(self, key, value):
            super().__setitem__(key.lower(), value)
    ---
    made = Lower(A=n)
    made["B"] = x
    list(made), made["a"], made.data, made.get("z"), made.setdefault("q", 1), made.pop("b")
UserList
    class Loud(collections.UserList):
        def append(self, value):
            super().append(value * 2)
    ---
    made = Loud(l)
    made.append(x)
    made[-1], len(made), made + [1], made[1:], made == l
MutableMapping
    class Table(collections.abc.MutableMapping):
        def __init__(self):
            self.held = {}
        def __getitem__(self, key):
            return self.held[key]
        def __setitem__(self, key, value):
            self.held[key] = value
        def __delitem__(self, key):
            del self.held[key]
        def __iter__(self):
            return iter(self.held)
        def __len__(self):
            return len(self.held)
    ---
    made = Table()
    made.update(d, w=x)
    made.setdefault("q", n)
    dict(made), made.pop("a"), made.get("z", m), "b" in made, list(made.items()), made == {"b": 2}
collections.abc checks
    kinds = collections.abc
    isinstance(l, kinds.Sequence), isinstance(d, kinds.Mapping), isinstance(s, kinds.Iterable), isinstance(n, kinds.Hashable), \\
        isinstance(fn, kinds.Callable), isinstance(counting(1), kinds.Iterator), issubclass(dict, kinds.MutableMapping), isinstance(x, kinds.Iterable)
numbers checks  isinstance(n, numbers.Number), isinstance(r, numbers.Integral), isinstance(x, numbers.Number)
typing.cast and Protocol
    class Sized(typing.Protocol):
        def total(self): ...
    @typing.runtime_checkable
    class Totals(typing.Protocol):
        def total(self): ...
    T = typing.TypeVar("T")
    class Box(typing.Generic[T]):
        def __init__(self, value: T):
            self.value = value
    ---
    typing.cast(int, n), typing.cast("Sized", obj).total(), isinstance(obj, Totals), isinstance(n, Totals), Box[int](n).value, Box(x).value
typing.TypedDict
    class Movie(typing.TypedDict):
        name: str
    ---
    Movie(name=s), Movie({"name": t})
typing.get_type_hints  typing.get_type_hints(double), typing.get_origin(list[int]), typing.get_args(dict[str, int])
copy  copy.copy(l) is l, copy.deepcopy({"a": [n, l]}), copy.deepcopy(l) == l, copy.deepcopy([p])
random  0 <= random.random() <= 1
random (numbers for a tensor)  x * random.random() + random.uniform(1, 2) - random.gauss(0, 1)
random (a seed)
    random.seed(n)
    x * random.random(), random.randint(1, 6), random.choice(words), random.sample(l, 2)
random (ints)  x * random.randint(1, 6)
torch.Generator (from outside)
    def f(x, made):
        return x + torch.randn(3, generator=made), torch.randperm(4, generator=made), made.device
    def inputs():
        return torch.ones(3), torch.Generator().manual_seed(3)
torch.Generator (own)
    made = torch.Generator().manual_seed(n)
    x + torch.rand(3, generator=made), torch.randint(0, 9, (2,), generator=made), made.initial_seed()
torch.Generator (for a distribution of tensors)
    made = torch.Generator().manual_seed(n)
    torch.bernoulli(torch.full((3,), 0.5), generator=made)
numpy.random  x * numpy.random.uniform(2, 2) + numpy.random.beta(1e9, 1e-9), float(numpy.random.normal(3, 0))
numpy.random (ints and arrays)  x * numpy.random.randint(3, 4), x[numpy.random.permutation(1)], numpy.random.normal(2, 0, (2,))
copy (tensors)
    made = copy.deepcopy([x, {"k": y, "again": x}])
    made[0].add_(1)
    made, made[1]["again"] is made[0]
random (own generator)  random.Random(n).random()
time  time.time() > 0, time.perf_counter() > 0
torch.manual_seed
    torch.manual_seed(5)
    x + torch.rand(3)
time (what a graph takes)
    def f(x):
        started = time.perf_counter()
        y = x * 2
        took = time.perf_counter() - started
        return y, isinstance(took, float), len([took, took * 1000, f"{took:.3f}"])
    def inputs():
        return (torch.ones(3),)
ContextVar
    VAR = contextvars.ContextVar("VAR", default=3)
    ---
    VAR.get(), x * VAR.get()
ContextVar (set in a context manager)
    VAR = contextvars.ContextVar("VAR")
    @contextlib.contextmanager
    def put(value):
        token = VAR.set(value)
        try:
            yield
        finally:
            VAR.reset(token)
    ---
    with put(n):
        with put(x):
            inner = VAR.get()
        outer = VAR.get()
    inner is x, outer, VAR.get("none")
ContextVar (set for good)
    VAR = contextvars.ContextVar("VAR", default=3)
    ---
    VAR.set(n)
    x * VAR.get()
ContextVar (set)
    VAR = contextvars.ContextVar("VAR", default=3)
    ---
    token = VAR.set(n)
    found = VAR.get()
    VAR.reset(token)
    found, VAR.get()
threading.local
    HELD = threading.local()
    HELD.value = 3
    ---
    x * HELD.value, getattr(HELD, "missing", n)
threading.local (written)
    HELD = threading.local()
    ---
    HELD.value = n
    HELD.value
threading.Lock
    LOCK = threading.Lock()
    ---
    with LOCK:
        z = x + 1
    z
threading.Lock (made inside)
    lock = threading.Lock()
    with lock:
        z = x + lock.locked()
    z, lock.acquire(False)
threading.RLock (made inside)
    lock = threading.RLock()
    with lock:
        with lock:
            z = x + 1
    z
random.Random (made inside)
    import random
    draw = random.Random(3)
    x * draw.uniform(0, 1), draw.choice([1, 2, 3]), draw.random()
datetime (made inside)
    import datetime
    x * (datetime.date(2024, 3, 1) - datetime.date(2024, 2, 28)).days, datetime.timedelta(hours=n)
io.StringIO (made inside)
    import io
    text = io.StringIO()
    text.write("ab")
    x * len(text.getvalue()), text
numpy arrays (made inside)
    import numpy as np
    rates = np.linspace(0, 1, 3)
    x * torch.tensor(rates.tolist()), int(np.prod([2, 3])), np.array([[1, 2]]).shape
torch.profiler.record_function
    with torch.profiler.record_function("part"):
        z = x * 2
    z
torch.nn.attention.sdpa_kernel
    import torch.nn.attention as attention
    with attention.sdpa_kernel(attention.SDPBackend.MATH):
        z = torch.nn.functional.scaled_dot_product_attention(x[None, None], x[None, None], x[None, None])
    z, torch.backends.cuda.flash_sdp_enabled()
unittest.TestCase.assertRaises
    import unittest
    with unittest.TestCase().assertRaises(ValueError):
        raise ValueError("bad")
    x + 1
numpy scalars as inputs
    def f(x, a, b):
        return x * float(a), int(b) + 1, a > 1, b == 2
    def inputs():
        return torch.ones(3), numpy.float64(1.5), numpy.int64(2)
numpy scalars as inputs (in tensor operations)
    def f(x, a):
        return x * a
    def inputs():
        return torch.ones(3), numpy.float32(1.5)
numpy arrays as inputs
    def f(x, a):
        return x * 2, a.sum(), a.shape, a[0]
    def inputs():
        return torch.ones(3), numpy.arange(3.0)
numpy arrays of tensors
    import numpy as np
    a = x.detach().numpy()
    b = np.maximum(a * 2, 0) - a.mean(axis=0, keepdims=True)
    torch.from_numpy(b) + x, b.sum(), b.dtype
numpy arrays that are filled
    import numpy as np
    a = np.zeros((2, 3), dtype=np.float32)
    a[0] = 1
    a[1] = x.detach().numpy().ravel()[0]
    a, torch.from_numpy(a)
numpy arrays as inputs (from_numpy)
    def f(x, a):
        return x + torch.from_numpy(a)
    def inputs():
        return torch.ones(3), numpy.ones(3, numpy.float32)
Decimal  decimal.Decimal("1.5") + n, decimal.Decimal(n) / 3, str(decimal.Decimal("2.50")), round(decimal.Decimal("1.25"), 1)
Decimal (from outside)
    def f(x, price):
        return x * 2, price * 2, str(price)
    def inputs():
        return torch.ones(3), decimal.Decimal("1.5")
Fraction  fractions.Fraction(n, m) + 1, float(fractions.Fraction(1, 4)) * x, str(fractions.Fraction(2, 6))
datetime  datetime.date(2024, 2, n).isoformat(), datetime.timedelta(days=n).total_seconds(), datetime.datetime(2024, 1, 1).strftime("%Y")
datetime (from outside)
    def f(x, day):
        return x * day.year, day + datetime.timedelta(days=1)
    def inputs():
        return torch.ones(3), datetime.date(2024, 2, 29)
datetime (now)  datetime.datetime.now().year > 2000
re  re.match(r"(\\w+) (\\w+)", s).groups(), re.sub("o", "0", s), re.findall("[a-z]+", s), re.split(" ", s), bool(re.search("z", s))
re (compiled outside)
    PATTERN = re.compile(r"(?P<first>\\w+) (\\w+)")
    ---
    PATTERN.match(s).group("first"), PATTERN.sub("x", s), PATTERN.pattern, PATTERN.search(t), [found.start() for found in PATTERN.finditer(s)]
string.Template  string.Template("$a and ${b}").substitute(d), string.ascii_lowercase[:n], string.capwords(s)
textwrap  textwrap.dedent("  a\\n  b"), textwrap.indent(s, "> "), textwrap.fill(s, 6), textwrap.shorten(s, 8)
json.dumps  json.dumps({"a": l, "s": s}), json.dumps(d, indent=1, sort_keys=True)
json.loads  json.loads('[1, {"a": null}, 2.5, "text"]'), json.loads(s.replace("Hello World", "3"))
struct  struct.pack("<hi", n, m), struct.unpack("<h", b2), struct.calcsize("<hi")
hashlib  hashlib.sha256(b).hexdigest()[:8]
uuid  len(str(uuid.uuid4()))
uuid (made of a text)  str(uuid.UUID("12345678123456781234567812345678"))
pathlib.PurePath  str(pathlib.PurePosixPath("a") / s), pathlib.PurePosixPath("a/b.txt").suffix, pathlib.PurePosixPath("a/b").parent.name
pathlib.PurePath (from outside)
    def f(x, path):
        return x * 2, path.name, str(path / "c"), path.parts
    def inputs():
        return torch.ones(3), pathlib.PurePosixPath("a/b.txt")
os.path  os.path.join(s, t), os.path.splitext("a.txt"), os.path.basename("a/b")
os.environ  os.environ.get("NO_SUCH_VARIABLE_AT_ALL", n), "NO_SUCH_VARIABLE_AT_ALL" in os.environ
os.environ (set)
    os.environ["COVERAGE_OF_ENVIRON"] = str(n)
    x * int(os.environ.pop("COVERAGE_OF_ENVIRON"))
os.getpid  os.getpid() > 0, os.getcwd() == os.path.abspath("."), os.cpu_count() == n
io.StringIO  text = io.StringIO(); text.write(s); text.getvalue()
warnings
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.warn("quiet")
    n
inspect checks  inspect.isfunction(double), inspect.isclass(Point), inspect.ismethod(obj.total), inspect.isgenerator(counting(1))
types.SimpleNamespace  made = types.SimpleNamespace(a=n, w=x); made.z = 1; made.a, made.w, ns.a, vars(made)["z"], repr(ns)
types.MethodType  types.MethodType(lambda self, value: self.a * value, obj)(x)
enum (as dict keys and in match)
    class Color(enum.Enum):
        RED = "r"
        BLUE = "b"
    SCALES = {Color.RED: 2, Color.BLUE: 3}
    def f(x, color):
        match color:
            case Color.RED:
                found = "red"
            case Color.BLUE:
                found = "blue"
        return x * SCALES[color], found, color.name, color is Color.BLUE
    def inputs():
        return torch.ones(3), Color.BLUE
""",
    "statements": """
match (literals and or)
    found = []
    for value in (1, "b", None, True, 2.5, -1, "other"):
        match value:
            case 1 | 2:
                found.append("small")
            case "a" | "b" as letter:
                found.append(letter)
            case None:
                found.append("none")
            case -1:
                found.append("minus")
            case float():
                found.append("float")
            case _:
                found.append("rest")
    found
match (sequences)
    found = []
    for value in ([], [1], (1, 2), [1, 2, 3, 4], "ab", d):
        match value:
            case []:
                found.append(0)
            case [one]:
                found.append(one)
            case (one, two):
                found.append((one, two))
            case [one, *middle, last]:
                found.append(middle)
            case str():
                found.append("text")
            case _:
                found.append("rest")
    found
match (mappings)
    found = []
    for value in (d, {"kind": "a", "size": n}, {"kind": {"deep": x}}, {}):
        match value:
            case {"kind": str(kind), "size": size}:
                found.append((kind, size))
            case {"kind": {"deep": tensor}}:
                found.append(tensor + 1)
            case {"a": 1, **rest}:
                found.append(rest)
            case {}:
                found.append("any")
    found
match (classes, values and guards)
    class Local:
        __match_args__ = ("left", "right")
        LIMIT = 3
        def __init__(self, left, right):
            self.left, self.right = left, right
    ---
    found = []
    for value in (Local(1, 2), Local(2, 2), Local(3, x), 3, n, Point(1, 2)):
        match value:
            case Local(1, two):
                found.append(two)
            case Local(left=a, right=z) if isinstance(z, int) and a == z:
                found.append("same")
            case Local(_, right=torch.Tensor() as tensor):
                found.append(tensor * 2)
            case Local.LIMIT:
                found.append("limit")
            case int(number) if number > 5:
                found.append(number)
            case Point(a=one):
                found.append(one)
    found
star expressions  [*l, *d, *s], (*l, n), {*l, *e}, {**d, "z": 1}, [*range(m), *[x]], max(*l, n)
unpacking (nested targets)  (a, (z, *q)), [w, u] = (n, (m, 1, 2)), "ab"; a, z, q, w, u
unpacking (errors)
    def three(values):
        a, z, q = values
    def more(values):
        a, z, *q = values
    ---
    attempt(three, l2), attempt(three, [1, 2, 3, 4]), attempt(three, n), attempt(more, [1])
exceptions with causes, contexts and notes
    try:
        try:
            d["z"]
        except KeyError as error:
            error.add_note("a note")
            raise ValueError(n) from error
    except ValueError as error:
        found = error
    found.__cause__.args, found.__cause__.__notes__, found.__context__ is found.__cause__, found.__suppress_context__
exceptions (context without a cause)
    try:
        try:
            n / 0
        finally:
            l[9]
    except IndexError as error:
        found = type(error.__context__).__name__
    try:
        raise KeyError from None
    except KeyError as error:
        quiet = error.__suppress_context__
    found, quiet
exceptions (own classes)
    class Local(ValueError):
        def __init__(self, code, *arguments):
            super().__init__(code, *arguments)
            self.code = code
        def __str__(self):
            return f"code {self.code}"
    ---
    try:
        raise Local(n, x)
    except ValueError as error:
        found = error
    found.code, str(found), isinstance(found, Local), found.args[1] + 1
exceptions (that leave the function)
    def f(x, n):
        first = x * 2
        if n > 3:
            raise ValueError(f"too large: {n}")
        return first
    def inputs():
        return torch.ones(3), 7
exceptions (from a callee, caught outside of the tensor work)
    def check(value):
        if value > 3:
            raise ValueError(value)
        return value
    ---
    found = []
    for value in (1, n):
        try:
            found.append(x * check(value))
        except ValueError:
            found.append(x - 1)
    found
exceptions (returned)
    try:
        l[9]
    except IndexError as error:
        found = error
    found
exceptions (traceback)
    try:
        l[9]
    except IndexError as error:
        found = error.__traceback__
    found.tb_lineno
sys.exc_info
    try:
        d["z"]
    except KeyError:
        found = sys.exc_info()[0]
    found
exception groups
    try:
        raise ExceptionGroup("group", [ValueError(n), KeyError("z"), ExceptionGroup("deep", [ValueError(m)])])
    except ExceptionGroup as group:
        matched, rest = group.split(ValueError)
        message = group.message
    len(matched.exceptions), rest.exceptions[0].args, message
except*
    found = []
    try:
        raise ExceptionGroup("group", [ValueError(n), KeyError("z")])
    except* ValueError as group:
        found.append(len(group.exceptions))
    except* KeyError:
        found.append("key")
    found
try and finally (return, break, continue)
    def early(values):
        for value in values:
            try:
                if value == 3:
                    continue
                if value == 2:
                    break
                return value
            finally:
                values.append(9) if len(values) < 6 else None
        return None
    def overriding():
        try:
            return 1
        finally:
            return 2
    ---
    early([3, 2]), early([3, 1]), early(l), overriding()
try with else
    found = []
    for value in (0, 1):
        try:
            n / value
        except ZeroDivisionError:
            found.append("zero")
        else:
            found.append("fine")
        finally:
            found.append("done")
    found
while with else
    count = 0
    while count < m:
        count += 1
        if count > n:
            break
    else:
        count = -count
    count
for with else
    found = []
    for limit in (2, 9):
        for value in l:
            if value == limit:
                break
        else:
            found.append(limit)
    found
chained comparisons  1 < m < n < 9, l2 == [1, 2] != l, m < n > 2 == 2, 0 < x.ndim < 2
ternaries  (n if flag else m), (x if other else y), [value if value > 1 else None for value in l]
conditions on shapes  (x if x.shape[0] > 2 else -x), (x.ndim == 1 and x), [x for _ in range(x.size(0))]
augmented assignment targets
    l[0] += n
    d["a"] *= 2
    obj.a -= 1
    l[1:] += [x]
    s += t
    e |= {9}
    x = x + 0
    x += 1
    l, d, obj, s, e, x
in-place on tensors
    z = x.clone()
    z += 1
    z *= 2
    z[0] = 5.0
    z[1:] = 0
    z.add_(1).clamp_(max=n)
    z
deletion of items, slices and attributes  del l[0], l[:1], d["a"], obj.b; made = {"a": x}; del made["a"]; l, d, obj, made
deleted locals
    def drop(value):
        if value > 1:
            del value
        return value
    ---
    attempt(drop, n), drop(1)
assert
    assert n > 1, "too small"
    assert isinstance(s, str)
    def check(value):
        assert value < 3, f"too large: {value}"
    attempt(check, n)
with several targets
    with contextlib.nullcontext((1, [2, 3])) as (a, [z, w]), contextlib.nullcontext(n) as l[0]:
        pass
    a, z, w, l
loops over everything
    found = []
    for index, (key, value) in enumerate(sorted(d.items()), start=1):
        found.append((index, key, value))
    for a, z in zip(l, reversed(l)):
        found.append(a * z)
    for letter in s[:2]:
        found.append(letter)
    for row in x:
        found.append(row + 1)
    found
loop with changing tensors
    held = x
    while held.ndim < 3:
        held = held.unsqueeze(0)
    for step in range(m):
        held = held * step + 1
    held
import inside
    import functools as tools
    from collections import OrderedDict
    from os import sep
    tools.reduce(max, l), list(OrderedDict(a=n)), sep
""",
    "values": """
string formatting (f-strings)  f"{n:>5}|{n:<5}|{n:^5}|{n:05}|{n:+}|{n:,}|{r:.2e}|{r:8.3f}|{s!r}|{s:.3}|{n:b}|{n!s:>4}|{r:{n}.{m}f}|{{}}|{c}"
string formatting (percent)  "%d %i %5d|%-5d|%05d" % (n, n, n, n, n), "%s %r %a" % (s, t, t), "%.2f %e %g %%" % (r, r, r), "%x %o %c" % (n, n, n), "%(a)s" % d
string formatting (format)  "{} {}".format(n, s), "{1} {0}".format(n, s), "{a:>{w}}".format(a=n, w=m), "{0.a} {1[0]}".format(obj, l), format(n, "08b")
string formatting (of shapes)  f"{x.shape} {x.dtype} {tuple(x.shape)} {x.ndim} {x.device}", str(x.size())
dict and set views  d.keys() | d2.keys() >= {"a"}, list(d.values()), d.items() & d2.items(), [key for key in d.keys() - d2.keys()], d.keys() == {"a", "b"}
sorting with keys
    sorted(words, key=lambda word: (len(word), word)), sorted(d, key=d.get, reverse=True), sorted([obj, obj2], key=lambda value: value.a), \\
        sorted([(2, "a"), (1, "b")], key=operator.itemgetter(0)), sorted(lx, key=lambda tensor: tensor.ndim)[0]
min and max with keys  max(words, key=len), min(d, key=d.get), max(l, key=lambda value: -value, default=n), min([obj, obj2], key=lambda value: value.b)
zip strict  list(zip(l, l, strict=True)), attempt(lambda: list(zip(l, l2, strict=True)))
enumerate start  list(enumerate(l, start=n)), [(index, letter) for index, letter in enumerate(s[:2], 5)]
isinstance with unions  isinstance(n, int | str), isinstance(r, int | str), issubclass(bool, int | str), isinstance(x, torch.Tensor | int), isinstance(none, int | None)
identity of values  n is n, none is None, l is not l2, x is x, type(n) is int, (obj is obj2)
truth of containers  [1 if value else 2 for value in (l, [], d, {}, s, "", p, (), none, n, 0, r, 0.0, obj)]
integers  n // m, -n // m, n % -m, n ** m, big * big, n << 70, ~n, n & m, int("z", 36), divmod(-n, m), big // n, -big >> 3
floats  r * q, r // q, r % q, 1e308 * 10, float("nan") != float("nan"), -0.0, 0.1 + 0.2, r.hex(), round(2.675, 2), int(-2.7)
complex numbers  c * c2, c.real, abs(c), c ** 2, c.conjugate(), complex("1j"), c == 1.5 + 2j
bytes, bytearray and memoryview  b + b2, b[1:3], ba + b2, bytes(mv[1:]), b2.hex(), bytes([n, m]), b"%d" % n, bytearray(b).upper()
bytearray and memoryview (made inside)
    made = bytearray(b)
    made.append(65)
    made[0] = 66
    view = memoryview(b)
    made.upper(), made[0], bytes(made), len(made), view[0], bytes(view[1:3]), view.nbytes
slices of everything  l[::-1], s[1:-1:2], p[-2:], rg[1:], b[::2], x[::2], l[slice(None)], x[None, :, None], x[..., -1:]
big integers as inputs  big + 1, big == 12345678901234567890123, x * (big % 7), hash(big)
nested containers
    tree = {"a": [(n, {"b": x})], "l": l}
    tree["a"][0][1]["b"] = tree["a"][0][1]["b"] * 2
    tree["l"].append(tree)
    tree["a"], l[-1] is tree
containers that hold themselves  made = [n]; made.append(made); held = {"self": None}; held["self"] = held; made, held
aliases in the result  [x, x], (l, l), {"a": d, "b": d}, doubled, doubled
sets of values  {n, m, n}, {s, t} == {t, s}, frozenset(l) | e, {(1, 2), (1, 2)}, len({1, 1.0, True})
hashes of methods and tuples
    class Local:
        def __init__(self):
            self.held = []
        def run(self):
            pass
    KEPT = []
    @minidynamo.disable
    def same(made, hashes):
        return hashes == (hash(made.run), hash((made, 1)), hash(made.held.append), hash(made.__str__))
    def f(x, made):
        return x * 2, same(made, (hash(made.run), hash((made, 1)), hash(made.held.append), hash(made.__str__)))
    def inputs():
        KEPT.append(Local())
        return torch.ones(3), KEPT[-1]
dict order  d["c"] = 1; d.pop("a"); d["a"] = x; list(d), list({**d2, **d}), list(reversed(d))
""",
    "introspection": """
locals  sorted(locals())
globals
    VALUE = 3
    ---
    globals()["VALUE"]
globals (written)
    VALUE = 3
    ---
    globals()["VALUE"] = n
    VALUE
vars  sorted(vars(obj)), vars(Point)["kind"]
dir  "a" in dir(obj)
dir (of a known type)  "append" in dir(list), len(dir(x)) > 9
eval  eval("1 + 1")
exec
    space = {}
    exec("value = 3", space)
    space["value"]
compile  eval(compile("1 + 1", "<text>", "eval"))
sys._getframe  sys._getframe().f_code.co_name
inspect.currentframe  inspect.currentframe() is None
inspect.getsource  type(inspect.getsource(double))
type names  type(x).__name__, type(obj).__qualname__, x.__class__.__name__, type(n).__name__, double.__name__, Point.__module__
code objects  double.__code__.co_varnames, double.__code__.co_argcount
free variables and cells
    value = n
    def inner():
        return value
    inner.__code__.co_freevars, inner.__closure__[0].cell_contents
sys.version_info  sys.version_info >= (3, 8), sys.version_info[0], sys.version_info.major
sys attributes  sys.maxsize, sys.byteorder, "torch" in sys.modules
sys.getsizeof  sys.getsizeof(n)
sys.getrefcount  sys.getrefcount(n) > 0
id  id(l) == id(l), id(x) == id(y)
callable and hasattr  callable(obj), hasattr(obj, "total"), hasattr(x, "missing"), callable(x.sum)
issubclass  issubclass(Point, object), issubclass(bool, (int, str)), attempt(issubclass, n, int)
torch.jit.is_scripting  torch.jit.is_scripting(), torch.jit.is_tracing()
""",
    "as programs use them": """
kwargs dispatch table
    HANDLERS = {"relu": torch.relu, "tanh": torch.tanh, None: lambda value: value}
    class Layer:
        def __init__(self, act):
            self.act = act
        def __call__(self, value, **options):
            return HANDLERS[options.get("act", self.act)](value)
    ---
    Layer("relu")(x), Layer(None)(x, act="tanh"), Layer("tanh")(x, other=n)
generator pipeline
    def squares(values):
        for value in values:
            yield value * value
    def limited(values, limit):
        for index, value in enumerate(values):
            if index == limit:
                return
            yield value
    ---
    list(limited(squares(l), 2)), sum(squares(lx)), next(squares([n])), list(zip(squares(l), squares(lx)))
generator kept in an attribute
    class Feed:
        def __init__(self, values):
            self.source = (value for value in values)
        def take(self):
            return next(self.source, None)
    ---
    feed = Feed(l)
    feed.take(), feed.take(), feed.take(), feed.take()
two generators interleaved  a = counting(m); z = counting(n); [next(a), next(z), next(a), a.send(5), next(z)]
exception in a property
    class Local:
        @property
        def bad(self):
            raise AttributeError("inside")
        def __getattr__(self, name):
            return "fallback " + name
    ---
    Local().bad, getattr(Local(), "bad", 3)
hasattr on a property that raises
    class Local:
        @property
        def bad(self):
            raise ValueError("inside")
    ---
    attempt(hasattr, Local(), "bad")
exception chained in context manager
    class Level:
        def __enter__(self):
            return self
        def __exit__(self, kind, error, traceback):
            raise RuntimeError("exit")
    ---
    try:
        with Level():
            d["z"]
    except RuntimeError as error:
        found = type(error.__context__), str(error)
    found
reraise with modification
    try:
        try:
            int("z")
        except ValueError as error:
            error.extra = n
            raise
    except ValueError as error:
        found = error.extra, error.args
    found
int subclass bool math  True + True, sum([True, False, True]), flag * x, (x > 0).sum() + flag
str methods chain  " ".join(word.capitalize() for word in s.lower().split()), s.partition(" ")[2][::-1], s.encode().decode()
dict comprehension of tensors  {name: value + 1 for name, value in dx.items()}, {**dx, "z": x}, dict(sorted(dx.items())), max(dx)
setdefault and grouping
    groups = {}
    for word in words:
        groups.setdefault(len(word), []).append(word)
    groups
heap of tuples
    queue = []
    for index, value in enumerate(l):
        heapq.heappush(queue, (value, index))
    [heapq.heappop(queue) for _ in range(2)]
sort of instances  sorted([obj, obj2]), min(obj, obj2), sorted([obj2, obj], key=lambda value: (value.a, value.b))
tuple comparison  (1, x.shape) < (2, x.shape), p == (1, "two", 3.0), (n, m) > (n, 1), [1, [2]] < [1, [3]]
iter with sentinel
    values = iter(l)
    list(iter(lambda: next(values), 2))
bytes join  b"-".join([b, b2]), bytes(reversed(b2)), int.from_bytes(b2, "big")
reduce over modules  functools.reduce(lambda value, layer: layer(value), seq, x), [name for name, _ in seq.named_children()], sum(part.numel() for part in seq.parameters())
module attributes  seq.training, seq[0].weight.shape, dict(seq.named_parameters()).keys(), seq[0].in_features, repr(seq[1])
module state_dict  sorted(seq.state_dict()), len(list(seq.modules())), seq.eval().training, seq.train().training
module hooks  seq.register_forward_hook(lambda module, arguments, result: result + 1); seq(x)
module buffers and parameters set
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(torch.ones(3))
            self.register_buffer("count", torch.zeros(1))
            self.steps = 0
        def forward(self, value):
            self.steps += 1
            self.count += 1
            return value * self.w * self.steps
    def f(x, net):
        return net(x) + net(x)
    NET = Net()
    def inputs():
        return torch.ones(3), NET
module made inside
    layer = torch.nn.Linear(3, 2)
    torch.nn.functional.relu(x)
copy of a module  copy.deepcopy(seq)(x)
torch.Size math  x.shape + (1,), x.shape[0] * 2, list(x.shape), x.shape == (3,), x.shape.numel(), torch.Size([1, 2])[::-1]
dtype and device tests  x.dtype is torch.float32, x.device.type == "cpu", x.is_cuda, torch.finfo(x.dtype).eps, {torch.float32: n}[x.dtype], x.dtype.itemsize
dtype dict  str(x.dtype), repr(x.device), f"{x.dtype}", x.dtype == torch.float32
defaultdict of lists  made = collections.defaultdict(lambda: collections.defaultdict(int)); made["a"]["b"] += n; made
Counter arithmetic  collections.Counter(l) + collections.Counter(l2), collections.Counter(words).most_common(3), sum(cn.values())
deque window
    window = collections.deque(maxlen=2)
    found = []
    for value in l:
        window.append(value)
        found.append(tuple(window))
    found
class registry
    REGISTRY = {}
    def register(name):
        def decorate(kind):
            REGISTRY[name] = kind
            return kind
        return decorate
    @register("a")
    class A:
        def __init__(self, value=1):
            self.value = value
    ---
    REGISTRY["a"](n).value, "b" in REGISTRY, REGISTRY.get("b") is None
registry write
    REGISTRY = {}
    ---
    REGISTRY[n] = x * 2
    REGISTRY.pop(n), len(REGISTRY)
global list append
    LOG = []
    ---
    LOG.append(n)
    LOG.append(x.shape)
    len(LOG)
nested dataclasses
    @dataclasses.dataclass
    class Config:
        size: int = 3
        extra: dict = dataclasses.field(default_factory=dict)
    @dataclasses.dataclass
    class Outer:
        config: Config = dataclasses.field(default_factory=Config)
        name: str = "x"
    CONFIG = Outer()
    ---
    made = Outer()
    made.config.extra["k"] = x
    CONFIG.config.size * x, made.config.extra["k"], dataclasses.replace(CONFIG, name=s).name, CONFIG == Outer()
ModelOutput like
    class Output(collections.OrderedDict):
        def __init__(self, **values):
            super().__init__(**values)
            for key, value in values.items():
                object.__setattr__(self, key, value)
        def __getitem__(self, key):
            if isinstance(key, str):
                return dict(self.items())[key]
            return tuple(self.values())[key]
        def to_tuple(self):
            return tuple(self[key] for key in self.keys())
    ---
    made = Output(loss=x, logits=x + 1)
    made.loss, made["logits"], made[0], made.to_tuple(), made
dataclass ModelOutput
    @dataclasses.dataclass
    class Output:
        loss: object = None
        logits: object = None
        def __post_init__(self):
            self.keys_ = [field.name for field in dataclasses.fields(self) if getattr(self, field.name) is not None]
        def __getitem__(self, index):
            return tuple(getattr(self, name) for name in self.keys_)[index]
    ---
    Output(logits=x)[0], Output(x, x + 1).keys_
typing aliases  typing.Optional[int], typing.Union[int, str], typing.List[int], isinstance(n, typing.Hashable)
typing.Generic subclass
    T = typing.TypeVar("T")
    class Box(typing.Generic[T]):
        def __init__(self, value):
            self.value = value
    ---
    Box(x).value, isinstance(Box(n), Box)
Protocol isinstance
    @typing.runtime_checkable
    class Totals(typing.Protocol):
        def total(self): ...
    ---
    isinstance(obj, Totals), isinstance(n, Totals)
warnings.warn
    warnings.warn("careful")
    n
logging
    import logging
    LOGGER = logging.getLogger("quiet")
    ---
    LOGGER.debug("text %s", n)
    LOGGER.isEnabledFor(10)
assertion on shapes
    assert x.shape == (3,), f"bad {x.shape}"
    assert x.ndim == 1 and x.size(0) > 2
    if x.shape[0] != 3:
        raise ValueError(x.shape)
    n
assertion on values
    assert (x == x).all(), "not a number"
    if x.isinf().any().item():
        raise ValueError(x)
    n
numbers out of constant tensors
    t = torch.tensor([1, 2])
    t[0] += 2
    t.tolist(), t.sum().item(), [1, 2, 3][t[1]], int(t[0]), bool(t[0] > t[1]), x[: t[1]]
numbers read out of tensors
    t = (x * 0 + n).long()
    k, first = t.sum().item(), int(t[0])
    x * k + first, torch.arange(first), x[: first - first + 2], torch.zeros(first).shape[0], sum(t.tolist()), k
floats read out of tensors
    mean, scale = x.mean().item(), float(x.abs().sum())
    x * mean + scale / 3, x > mean, mean * x.shape[0], x.tolist()[0] * x, [mean]
truth values read out of tensors
    positive = (x > 0).any().item()
    positive, not positive, bool(x.isnan().any())
sizes that depend on values
    kept = x[x > 0]
    kept * 2, torch.nonzero(x), torch.masked_select(x, x > 0), x.unique(), kept.shape[0], torch.bincount((x > 0).long())
checks of numbers that are read out of tensors
    k = (x * 0 + n).long().sum().item()
    torch._check(k >= 0)
    torch._check(k < 1000, lambda: "too many")
    torch.zeros(k) + torch.sym_max(k, 3)
tensors of tensors  torch.tensor([x[0], 2.5]), torch.as_tensor([[x[0]], [n]]), x.new_tensor([1, x[0]])
attributes of tensors
    y = x + 1
    y.tag = n
    setattr(y, "other", x)
    y, y.tag, hasattr(y, "other"), getattr(y, "none", None)
tensors given as numbers  torch.full((2,), x[0]), torch.full_like(x, x[0]), x.new_full((1,), x[1]), x.new(2).zero_(), torch.Tensor([1, 2])
math on shapes  math.sqrt(x.shape[0]), 1 / math.sqrt(x.size(-1)) * x, math.prod(x.shape), x.numel() // 2, -(-x.numel() // 2)
none checks and defaults
    def attend(value, mask=None, scale=None, *, bias=None):
        scale = scale or 1 / math.sqrt(value.shape[-1])
        if mask is not None:
            value = value + mask
        return value * scale + (bias if bias is not None else 0)
    ---
    attend(x), attend(x, y, bias=n), attend(x, scale=r)
cache dict by key
    CACHE = {}
    def cached(key, make):
        if key not in CACHE:
            CACHE[key] = make()
        return CACHE[key]
    ---
    cached(("a", n), lambda: x + 1), cached(("a", n), lambda: x + 2), len(CACHE)
tensor as bool in isinstance  isinstance(x, (list, tuple)), torch.is_tensor(x), torch.is_floating_point(x), x.is_floating_point(), callable(x)
tensor unpack  a, z, q = x; first, *rest = x.unbind(); a + q, first, rest
zip of tensors  dict(zip("ab", x)), list(zip(x, y)), [*x], tuple(y)
list multiplication and tensors  [x] * 2, torch.stack([x] * 3), torch.cat([*lx, x]), sum(lx, x)
in operator on tensors in list  obj in [obj, obj2], n in [x.shape[0], 7], "w" in dx
try import
    try:
        import no_such_module_at_all
    except ImportError as error:
        found = error.name
    found
print to nowhere  print("x", file=None) if other else n
print (a tensor)  print("x:", x, x * 2, x.shape)
print (containers and objects)  print(l, d, p, words, sep="; ", end="", flush=True)
print (to a stream of Python code)
    class Lines:
        def __init__(self):
            self.pieces = []
        def write(self, text):
            self.pieces.append(text)
    ---
    lines = Lines()
    print("a", n, file=lines)
    lines.pieces, x + 1
print (a tensor that is changed)
    z = x + 1
    print(z)
    z.add_(1)
    z
sorted with reverse and stability  sorted(words, key=len, reverse=True), sorted([(1, "b"), (1, "a")], key=lambda pair: pair[0]), list(reversed(sorted(d)))
string building  "".join(chr(97 + value) for value in l), s.translate({ord("o"): "0"}), "%s" % (l,), "{:>10}".format(s[:3]), s.center(15, "*")
string split numbers  [int(part) for part in "1 2 3".split()], "a=1,b=2".split(","), dict(part.split("=") for part in "a=1,b=2".split(","))
slices assigned  l[:] = [x]; d.clear(); d.update(a=1); l, d
exception args with tensors
    try:
        raise ValueError("bad", x)
    except ValueError as error:
        found = error.args[1] + 1
    found
finally order
    found = []
    def inner():
        try:
            found.append(1)
            return found.append(2)
        finally:
            found.append(3)
    inner()
    found
loop else with generator
    for value in counting(m):
        if value > 5:
            break
    else:
        value = -1
    value
object with __len__ zero truth
    class Empty(list):
        pass
    ---
    1 if Empty() else 2, bool(Empty([1])), not Empty()
operator on str subclasses
    class Name(str):
        def __add__(self, other):
            return Name(str.__add__(self, other) + "!")
    ---
    Name(s) + t, type(Name(s) + t).__name__, Name(s).upper(), {Name("a"): 1}["a"]
class with __slots__ and inheritance
    class A:
        __slots__ = ("a",)
    class B(A):
        __slots__ = ("b", "__dict__")
    ---
    made = B()
    made.a, made.b, made.c = n, x, s
    made.a, made.b, made.c, made
iterator protocol via getitem and iter
    class Pages:
        def __init__(self, pages):
            self.pages = pages
        def __iter__(self):
            for page in self.pages:
                yield from page
    ---
    list(Pages([l, l2])), [value for value in Pages([[x], [y]])]
deep recursion
    def depth(value):
        return 0 if value == 0 else 1 + depth(value - 1)
    ---
    depth(40)
closure counter shared
    def make():
        count = 0
        def up():
            nonlocal count
            count += 1
            return count
        def get():
            return count
        return up, get
    ---
    up, get = make()
    up(), up(), get()
vararg lambda  (lambda *a, **k: (a, k))(n, *l, z=m, **d), (lambda a, /, b=2, *, c=3: (a, b, c))(1, c=n)
star in index  d2.get(*["b"]), max(*[l][0])
complex slices  x[None, ..., 0:2], x[[0, 2]], x[torch.tensor([0, 1])], x[(slice(None),)], l[slice(None, None, -1)]
fstring nested  f"{f'{n}':>{m}}", f"{l!r:.3}", f"{d['a']}", f"{x.shape[0]:03d}", f"{obj.a=}"
int parsing  int("0x1f", 0), int(" 5 "), float(" 1e3 "), int(True), round(-0.5), bin(n)[2:].zfill(8), n.bit_length()
""",
    "transforms": """
torch.vmap  torch.vmap(lambda row: row * row.sum(), in_dims=(0,), out_dims=0)(x)
torch.func.vmap (chunk_size, randomness)  torch.func.vmap(lambda row: torch.nn.functional.dropout(row), randomness="same", chunk_size=None)(x), torch.func.vmap(torch.sin, chunk_size=1)(x)
torch.func.grad  torch.func.grad(lambda value: (value * value).sum())(x)
torch.func.grad_and_value  torch.func.grad_and_value(lambda value: (value.sin().sum(), value + 1), has_aux=True)(x)
torch.func.vjp
    output, back = torch.func.vjp(torch.sin, x)
    output, back(output)
torch.func.jvp  torch.func.jvp(torch.sin, (x,), (torch.ones_like(x),))
torch.func.jacrev  torch.func.jacrev(lambda value: value.sin() * value.sum())(x)
torch.func.jacfwd  torch.func.jacfwd(lambda value: value.sin() * value.sum())(x)
torch.func.hessian  torch.func.hessian(lambda value: (value ** 3).sum())(x)
torch.func.functional_call
    layer = seq[0]
    torch.func.functional_call(layer, {name: value.detach() * 2 for name, value in layer.named_parameters()}, (x,))
torch.func.stack_module_state  torch.func.stack_module_state([seq[0], seq[0]])[0]
torch.func.linearize  torch.func.linearize(torch.sin, x)[0]
per-sample gradients  torch.vmap(torch.func.grad(lambda row: (row * row).sum()))(x)
autograd.Function within a transform
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(value):
            return value ** 3
        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[0])
        @staticmethod
        def backward(ctx, gradient):
            return gradient * 3 * ctx.saved_tensors[0] ** 2
        @staticmethod
        def vmap(info, in_dims, value):
            return Cube.apply(value), in_dims[0]
    ---
    torch.vmap(Cube.apply)(x), torch.func.grad(lambda value: Cube.apply(value).sum())(x)
nested transforms  torch.func.jvp(torch.vmap(torch.func.grad(lambda value: (value ** 3).sum())), (x,), (x,))
torch.autograd.grad
    value = x.detach().requires_grad_()
    torch.autograd.grad((value.exp() * value).sum(), value)
torch.Tensor.requires_grad (set on a new tensor)
    value = x.detach().clone()
    value.requires_grad = True
    (value * 2).sum(), value.is_leaf
torch.Tensor.requires_grad_ (on what is returned)
    value = torch.zeros(3).requires_grad_()
    value, x.detach() + 1
torch.Tensor.requires_grad (of a parameter, for a while)
    weight = torch.nn.Parameter(torch.ones(3))
    ---
    weight.requires_grad = False
    y = x.detach() * weight
    weight.requires_grad = True
    y, y.requires_grad, x.detach() * weight
torch.Tensor.data (set)
    weight = torch.nn.Parameter(torch.ones(3))
    ---
    weight.data -= 0.1 * x.detach().sum()
    weight.detach() * 2
torch.Tensor.data (of another tensor)
    value = torch.zeros(2)
    value.data = x.detach() * 2
    value + 1
torch.nn.Parameter (made inside)
    weight = torch.nn.Parameter(torch.full((3,), 2.0))
    x.sum() * weight, weight.requires_grad, isinstance(weight, torch.nn.Parameter)
torch.nn.Linear (made inside)
    layer = torch.nn.Linear(3, 2)
    layer.weight.shape, torch.nn.init.zeros_(layer.weight).detach() * n
torch.autograd.functional  torch.autograd.functional.jacobian(torch.sin, x.detach()), torch.autograd.functional.vjp(torch.sin, x.detach(), x.detach()), torch.autograd.functional.hvp(lambda value: value.sin().sum(), x.detach(), x.detach())
torch.autograd.forward_ad
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, x)
        found = torch.autograd.forward_ad.unpack_dual(dual.sin()).tangent
    found
a value is read in the body (a reason)  attempt(torch.vmap(lambda row: row.item()), x)
an error in the body  attempt(torch.vmap(lambda row: d["z"]), x)
wrong in_dims  attempt(torch.vmap(lambda a, b: a + b, in_dims=(0, 1, 2)), x, x)
""",
    "across a break": """
numbers and strings  minidynamo.graph_break(); n + 1, s.upper(), f"{r:.1f}", b[1:], big + n
containers made before  made = [n, {"a": x}, (l, {m}), frozenset(l)]; minidynamo.graph_break(); made.append(made[1]["a"] + 1); made
containers from outside
    l.append(x)
    d["z"] = l
    e.discard(1)
    minidynamo.graph_break()
    l.pop()
    d["z"] is l, l, d, e
iterators over deques  made = collections.deque(l); walks = [iter(made), reversed(made)]; first = next(walks[0]); minidynamo.graph_break(); first, [list(walk) for walk in walks]
iterators backwards over dicts  walks = [reversed(d), reversed(d.items()), reversed(collections.OrderedDict(d))]; first = next(walks[1]); minidynamo.graph_break(); first, [list(walk) for walk in walks]
itertools.pairwise and tee  walks = [itertools.pairwise(l), *itertools.tee(l)]; first = [next(walk) for walk in walks]; minidynamo.graph_break(); first, [list(walk) for walk in walks]
instances  made = Point(n, x); obj.a = made; minidynamo.graph_break(); obj.a is made, made.b + 1, made == Point(n, x) if other else 1
closures
    total = n
    def add(value):
        nonlocal total
        total += value
        return total
    add(1)
    minidynamo.graph_break()
    add(2), total
list iterator  made = iter(l); next(made); minidynamo.graph_break(); list(made), type(made).__name__
enumerate  made = enumerate(l); next(made); minidynamo.graph_break(); isinstance(made, enumerate), type(made).__name__, list(made)
enumerate (its methods)  made = enumerate(l); next(made); minidynamo.graph_break(); made.__next__()
zip  made = zip(l, s); next(made); minidynamo.graph_break(); isinstance(made, zip), type(made).__name__, list(made)
zip (its methods)  made = zip(l, s); next(made); minidynamo.graph_break(); made.__reduce__()[0]
map and filter  made = map(str, filter(None, l)); next(made); minidynamo.graph_break(); isinstance(made, map), list(made)
reversed and range  made = reversed(l); next(made); other = iter(rg); next(other); minidynamo.graph_break(); list(made), list(other)
dict iterators  made = iter(d.items()); next(made); minidynamo.graph_break(); list(made), type(made).__name__
itertools  made = itertools.chain(l, s); next(made); minidynamo.graph_break(); list(made), type(made).__name__
itertools (count and cycle)  made = itertools.count(n); next(made); other = itertools.cycle(l); next(other); minidynamo.graph_break(); next(made), next(other)
generators  made = counting(n); next(made); minidynamo.graph_break(); next(made), made.send(5), list(made)
generators (their attributes)  made = counting(n); next(made); minidynamo.graph_break(); made.__name__, made.gi_code.co_name, inspect.isgenerator(made)
bound methods  made = obj.total; other = l.append; minidynamo.graph_break(); other(x); made(2), l, made.__self__ is obj, other.__self__ is l
bound methods (of builtin types)  made = l.append; minidynamo.graph_break(); type(made).__name__, made == l.append, repr(made)[:30]
map, filter and reversed
    mapped, kept, back = map(lambda value: value * 2, [n, m, 3]), filter(lambda value: value, [n, 0, m]), reversed([n, m, 3])
    first = next(mapped), next(kept), next(back)
    minidynamo.graph_break()
    first, [x * value for value in mapped], list(kept), [x * value for value in back]
partials and lambdas  made = functools.partial(double, n); other = lambda value: value + m; minidynamo.graph_break(); made(), other(x)
exceptions
    try:
        d["z"]
    except KeyError as error:
        found = error
    minidynamo.graph_break()
    found.args, str(found), type(found)
exceptions (of the system)  made = FileNotFoundError(2, "missing", "name"); minidynamo.graph_break(); made.filename, made.errno, str(made)
exceptions (of names)  made = AttributeError("bad", name="q", obj=n), ImportError("bad", name="m"); minidynamo.graph_break(); made[0].name, made[0].obj, made[1].name
exceptions (in a handler)
    try:
        d["z"]
    except KeyError as error:
        minidynamo.graph_break()
        found = error.args, sys.exc_info()[0]
    found
with blocks
    with contextlib.suppress(KeyError), torch.no_grad():
        minidynamo.graph_break()
        z = x + 1, torch.is_grad_enabled()
        d["z"]
    z
loops
    found = []
    for index, value in enumerate(l):
        if index == 1:
            minidynamo.graph_break()
        found.append(x * value)
    found
loops over tensors and dicts
    found = {}
    for name, tensor in dx.items():
        minidynamo.graph_break()
        found[name] = tensor + 1
    found
callees
    def inner(value, scale):
        value = value * scale
        minidynamo.graph_break()
        return value + scale
    ---
    inner(x, n), [inner(tensor, m) for tensor in lx]
hashes and sets  made = {obj: n, p: m}; minidynamo.graph_break(); made[obj], made[p], obj in {obj}, list(made)
hashes (of methods)  made = hash(obj.total); minidynamo.graph_break(); made == hash(obj.total)
classes and functions  made = [Point, double, len, str.upper, torch.add]; minidynamo.graph_break(); made[0] is Point, made[1](n), made[2](l), made[3](s), made[4](x, y)
slices, ranges and views  made = slice(1, n), range(n), d.keys(), d.items(); minidynamo.graph_break(); l[made[0]], list(made[1]), list(made[2]), len(made[3])
collections  made = collections.OrderedDict(a=x), collections.deque([n], 2), collections.Counter(s), collections.defaultdict(list); minidynamo.graph_break(); made
named tuples and enums
    Pair = collections.namedtuple("Pair", "left right")
    class Color(enum.Enum):
        RED = 1
    ---
    made = Pair(n, x), Color.RED
    minidynamo.graph_break()
    made[0].right + 1, made[1] is Color.RED, made
types.SimpleNamespace  made = types.SimpleNamespace(a=n); minidynamo.graph_break(); made.a, made
modules  layer = seq[0]; minidynamo.graph_break(); layer(x), layer is seq[0]
""",
    "operators on functions": """
torch.utils.checkpoint.checkpoint
    from torch.utils.checkpoint import checkpoint
    z = torch.ones(3, requires_grad=True)
    ---
    checkpoint(lambda a: a.sin() * y, z, use_reentrant=False)
torch.utils.checkpoint.checkpoint (with an effect)
    from torch.utils.checkpoint import checkpoint
    z = torch.ones(3, requires_grad=True)
    ---
    found = []
    checkpoint(lambda a: (found.append(n), a.sin())[1], z, use_reentrant=False), found
torch.autograd.Function
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.save_for_backward(a)
            return a * a * a
        @staticmethod
        def backward(ctx, grad):
            (a,) = ctx.saved_tensors
            return 3 * a * a * grad
    z = torch.ones(3, requires_grad=True)
    ---
    Cube.apply(z), Cube.apply(x)
torch.cond  torch.cond(x.sum() > 0, lambda a: a.sin(), lambda a: a.cos(), (x,))
torch._higher_order_ops.while_loop
    from torch._higher_order_ops.while_loop import while_loop
    while_loop(lambda i, a: i < 5, lambda i, a: (i + 1, a * 2), (torch.tensor(0), x))
torch._higher_order_ops.map
    from torch._higher_order_ops.map import map as map_rows
    map_rows(lambda row: row * 2, x)
torch._higher_order_ops.scan
    from torch._higher_order_ops.scan import scan
    scan(lambda carry, row: (carry + row, carry * row), x[0] * 1, x)
""",
    "steps of optimizers": """
torch.optim.SGD
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([weight], lr=0.1, momentum=0.9)
    weight.grad = torch.ones(3)
    optimizer.step()
    ---
    weight.grad.mul_(2)
    optimizer.step()
    weight * n
torch.optim.Adam
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.Adam([weight], lr=0.1)
    weight.grad = torch.ones(3)
    optimizer.step()
    ---
    weight.grad.mul_(2)
    optimizer.step()
    weight * n
torch.optim.AdamW
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.AdamW([weight], lr=0.1, foreach=True)
    weight.grad = torch.ones(3)
    optimizer.step()
    ---
    weight.grad.mul_(2)
    optimizer.step()
    weight * n
torch.optim.Adagrad
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.Adagrad([weight], lr=0.1, lr_decay=0.1)
    weight.grad = torch.ones(3)
    optimizer.step()
    ---
    weight.grad.mul_(2)
    optimizer.step()
    weight * n
torch.optim.RMSprop
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.RMSprop([weight], lr=0.1)
    weight.grad = torch.ones(3)
    optimizer.step()
    ---
    weight.grad.mul_(2)
    optimizer.step()
    weight * n
torch.optim.NAdam
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.NAdam([weight], lr=0.1)
    weight.grad = torch.ones(3)
    optimizer.step()
    ---
    weight.grad.mul_(2)
    optimizer.step()
    weight * n
torch.optim.Adamax
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.Adamax([weight], lr=0.1)
    weight.grad = torch.ones(3)
    optimizer.step()
    ---
    weight.grad.mul_(2)
    optimizer.step()
    weight * n
torch.optim.Adadelta
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.Adadelta([weight], lr=0.1)
    weight.grad = torch.ones(3)
    optimizer.step()
    ---
    weight.grad.mul_(2)
    optimizer.step()
    weight * n
torch.optim.Rprop
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.Rprop([weight], lr=0.1)
    weight.grad = torch.ones(3)
    optimizer.step()
    ---
    weight.grad.mul_(2)
    optimizer.step()
    weight * n
torch.optim.RAdam
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.RAdam([weight], lr=0.1)
    weight.grad = torch.ones(3)
    optimizer.step()
    ---
    weight.grad.mul_(2)
    optimizer.step()
    weight * n
torch.optim.ASGD
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.ASGD([weight], lr=0.1)
    weight.grad = torch.ones(3)
    optimizer.step()
    ---
    weight.grad.mul_(2)
    optimizer.step()
    weight * n
torch.optim.Adafactor
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.Adafactor([weight], lr=0.1)
    weight.grad = torch.ones(3)
    optimizer.step()
    ---
    weight.grad.mul_(2)
    optimizer.step()
    weight * n
torch.optim.Adam (fused)
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.Adam([weight], lr=0.1, fused=True)
    weight.grad = torch.ones(3)
    optimizer.step()
    ---
    weight.grad.mul_(2)
    optimizer.step()
    weight * n
torch.optim.Optimizer.zero_grad
    weight = torch.nn.Parameter(torch.ones(3))
    weight.grad = torch.ones(3)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    ---
    optimizer.zero_grad()
    weight.grad is None, x * 2
torch.optim.Optimizer.zero_grad(set_to_none=False)
    weight = torch.nn.Parameter(torch.ones(3))
    weight.grad = torch.ones(3)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    ---
    optimizer.zero_grad(set_to_none=False)
    weight.grad * 2
torch.nn.utils.clip_grad_norm_
    weight = torch.nn.Parameter(torch.ones(3))
    weight.grad = torch.ones(3)
    ---
    torch.nn.utils.clip_grad_norm_([weight], 0.5), weight.grad * 2
torch.nn.utils.clip_grad_value_
    weight = torch.nn.Parameter(torch.ones(3))
    weight.grad = torch.ones(3)
    ---
    torch.nn.utils.clip_grad_value_([weight], 0.5)
    weight.grad * 2
""",
    "backward passes": """
torch.Tensor.backward
    weight = torch.ones(3, requires_grad=True)
    ---
    weight.grad = None
    (weight * x[0]).sum().backward()
    weight.grad * 2
torch.Tensor.backward(gradient=)
    weight = torch.ones(3, requires_grad=True)
    ---
    weight.grad = None
    (weight * 2).backward(torch.full((3,), 0.5))
    weight.grad + x[0]
torch.Tensor.backward(inputs=)
    first, second = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    ---
    first.grad = None
    (first * second * 2).sum().backward(inputs=[first])
    first.grad + x[0], second.grad is None
torch.Tensor.backward(retain_graph=True)
    weight = torch.ones(3, requires_grad=True)
    ---
    weight.grad = None
    loss = (weight * weight).sum()
    loss.backward(retain_graph=True)
    loss.backward()
    weight.grad + x[0]
torch.autograd.backward
    weight = torch.ones(3, requires_grad=True)
    ---
    weight.grad = None
    torch.autograd.backward([(weight * 2).sum(), (weight * 3).sum()])
    weight.grad + x[0]
torch.autograd.grad(create_graph=True)
    weight = torch.ones(3, requires_grad=True)
    ---
    weight.grad = None
    (slope,) = torch.autograd.grad((weight ** 3).sum(), weight, create_graph=True)
    slope.sum().backward()
    weight.grad + x[0]
a hook of a parameter
    weight = torch.ones(3, requires_grad=True)
    handle = weight.register_hook(lambda gradient: gradient * 2)
    ---
    weight.grad = None
    (weight * 2).sum().backward()
    weight.grad + x[0]
Tensor.register_hook, and its handle removed
    weight = torch.ones(3, requires_grad=True)
    ---
    weight.grad = None
    y = weight * 2
    y.register_hook(lambda gradient: gradient * 3)
    y.register_hook(lambda gradient: gradient * 5).remove()
    y.sum().backward()
    weight.grad + x[0]
a hook that logs gradients
    weight, log = torch.ones(3, requires_grad=True), []
    handle = weight.register_hook(log.append)
    ---
    weight.grad = None
    (weight * 2).sum().backward()
    log.pop() + x[0]
Tensor.register_post_accumulate_grad_hook
    weight = torch.ones(3, requires_grad=True)
    handle = weight.register_post_accumulate_grad_hook(lambda p: setattr(p, "grad", p.grad * 2))
    ---
    weight.grad = None
    (weight * 2).sum().backward()
    weight.grad + x[0]
nn.Module.register_full_backward_hook
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
    handle = model[1].register_full_backward_hook(lambda module, inputs, outputs: (inputs[0] * 2,))
    ---
    model.zero_grad()
    model(torch.ones(2, 4)).sum().backward()
    model[0].bias.grad + x[0]
nn.Module.register_full_backward_pre_hook
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
    handle = model[1].register_full_backward_pre_hook(lambda module, outputs: (outputs[0] * 2,))
    ---
    model.zero_grad()
    model(torch.ones(2, 4)).sum().backward()
    model[0].bias.grad + x[0]
torch.utils.checkpoint.checkpoint and a backward pass
    model = torch.nn.Linear(4, 4)
    from torch.utils.checkpoint import checkpoint
    ---
    model.zero_grad()
    checkpoint(lambda h: torch.nn.functional.dropout(model(h).relu(), 0.5), torch.ones(2, 4), use_reentrant=False).sum().backward()
    model.bias.grad + x[0]
torch.utils.checkpoint.checkpoint(use_reentrant=True) and a backward pass
    model, h = torch.nn.Linear(4, 4), torch.ones(2, 4, requires_grad=True)
    from torch.utils.checkpoint import checkpoint
    ---
    model.zero_grad()
    checkpoint(lambda h: torch.nn.functional.dropout(model(h).relu(), 0.5), h, use_reentrant=True).sum().backward()
    model.bias.grad + x[0]
torch.autograd.Function below a backward pass
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.save_for_backward(a)
            return a ** 3
        @staticmethod
        def backward(ctx, grad):
            (a,) = ctx.saved_tensors
            return 3 * a * a * grad
    weight = torch.ones(3, requires_grad=True)
    ---
    weight.grad = None
    Cube.apply(weight).sum().backward()
    weight.grad + x[0]
""",
}

for minor in range(12, sys.version_info.minor + 1):
    later = importlib.import_module(f"coverage_cases_3{minor}")
    NOT_APPLICABLE |= later.NOT_APPLICABLE
    for former, name in later.NOW_CALLED.items():
        OPCODES = re.sub(rf"^{former}\b", name, OPCODES, flags=re.MULTILINE)
    OPCODES += later.OPCODES
    EXCEPTIONS += later.EXCEPTIONS
    for table, added in ((METHODS, later.METHODS), (LIBRARY, later.LIBRARY)):
        for name, cases in added.items():
            table[name] = f"{table.get(name, '')}\n{cases}"
