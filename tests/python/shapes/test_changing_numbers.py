"""Uses of a number that changes between calls: each way in which Python and C code of the standard library take one.

A changing int is a symbolic int to a trace, and a changing float a tensor. C code that asks whether it is given an int, or keeps the
number and not the object, has to get the number that it stands for.
"""

import enum
import re
import textwrap
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch

import minidynamo


class Number(enum.IntEnum):
    TWO = 2
    FOUR = 4


KINDS: dict[str, list[Any]] = {
    "int": [2, 3, 4, 5, 1, 0],
    "float": [2.0, 3.0, 2.5, 4.5, 0.0, -0.0, float("inf"), float("nan")],
    "bool": [True, False],
    "numpy int": [numpy.int64(2), numpy.int64(3), numpy.int64(4)],
    "numpy float": [numpy.float64(2), numpy.float64(3.5)],
    "tensor": [torch.tensor(2), torch.tensor(3), torch.tensor(4)],
    "enum": list(Number),
    "str": ["2", "3", "a"],
}

# Each sets `r` to what is to be compared, of a number `n`.
STATEMENTS = r"""
b = bytearray(8); b[0] = n; r = bytes(b)
b = bytearray(8); b[n] = 1; r = bytes(b)
b = bytearray(n); r = len(b)
b = bytearray(b'abc'); b.append(n); r = bytes(b)
b = bytearray(b'abc'); b.extend([n, n]); r = bytes(b)
b = bytearray(b'abc'); b += bytes([n]); r = bytes(b)
b = bytearray(b'abcdef'); b[n:n+1] = b'xy'; r = bytes(b)
b = bytearray(b'abcdef'); del b[n]; r = bytes(b)
b = bytearray(b'abcdef'); b.insert(n, n); r = bytes(b)
b = bytearray(b'abcdef'); r = b.pop(n)
import array; a = array.array('i', [1,2,3,4,5,6]); a[0] = n; r = a.tolist()
import array; a = array.array('d', [n, n]); r = a.tolist()
import array; a = array.array('i', [1]) * n; r = len(a)
m = memoryview(bytearray(8)); m[0] = n; r = bytes(m)
m = memoryview(b'abcdef'); r = bytes(m[n:])
r = bytes(n)
r = bytes([n, 2])
r = b'abc' * n
r = 'abc'[n:] + 'x' * n
r = chr(n + 60)
r = f'{n:04d}|{n!r:>5}|{n:b}'
r = '%d %5.2f %x %c' % (n, n, n, n + 60)
r = '{:>{w}}'.format('a', w=n)
r = 'abc'.ljust(n + 3, '*')
r = 'a,b,c,d,e'.split(',', n)
r = 'aXbXcXdXe'.replace('X', '-', n)
r = 'abcdefabcdef'.find('a', n)
r = 'a\\tb'.expandtabs(n)
r = 'abc'.zfill(n + 4)
r = [1,2,3,4,5,6][n]
l = [1,2,3,4,5,6]; l.insert(n, n); r = l
l = [1,2,3,4,5,6]; r = l.pop(n), l
l = [1,2,3,4,5,6]; l[n:] = [n]; r = l
l = [1,2,3,4,5,6]; del l[n]; r = l
r = [0] * n
r = (1, 2) * n
r = [1,2,3,4,5,6].index(n, n - 1)
r = list(range(n)), range(n)[n-1], len(range(n)), n in range(n), range(10)[n]
r = list(range(0, 10, n)), range(n) == range(n)
import collections; d = collections.deque([1,2,3,4,5,6], n); r = list(d), d.maxlen
import collections; d = collections.deque([1,2,3,4,5,6]); d.rotate(n); r = list(d)
import collections; d = collections.deque([1,2,3,4,5,6]); d.insert(n, 9); d[n] = n; del d[0]; r = list(d)
import collections; d = collections.Counter('aabbb'); d['a'] = n; r = d.most_common(n)
import collections; d = collections.OrderedDict(a=n); d.move_to_end('a'); r = d
import math; r = math.comb(n + 3, n), math.factorial(n), math.gcd(n, 6), math.perm(n), math.isqrt(n * n), math.lcm(n, 4)
import math; r = math.sqrt(n), math.ldexp(1.0, n), math.pow(n, 2), math.floor(n), math.trunc(n), math.ceil(n), math.prod([n, n])
import math; r = math.fsum([n, n]), math.hypot(n, n), math.dist([n], [0])
import math; r = math.copysign(n, -1), math.fmod(7, n), math.sumprod([n],[n]) if hasattr(math, 'sumprod') else 0
r = int(n), float(n), complex(n, n), bool(n), str(n), hash(n) * (type(n) is not torch.Tensor), abs(-n)
r = divmod(17, n), pow(n, 3, 7), round(n), round(17.125, n), bin(n), hex(n), oct(n)
r = n.bit_length(), n.bit_count(), n.to_bytes(n, 'big'), (n).as_integer_ratio(), n.conjugate(), n.real, n.numerator
r = int.from_bytes(bytes([n]), 'big'), int(str(n)), int('11', n)
import struct; r = struct.pack('>iH', n, n), struct.unpack_from('<H', b'abcdefgh', n)
import struct; b = bytearray(16); struct.pack_into('<i', b, n, n); r = bytes(b)
import itertools; r = list(itertools.repeat(1, n)), list(itertools.islice('abcdef', n)), list(itertools.combinations('abcdef', n))
import itertools; r = next(itertools.count(n)), list(itertools.product('ab', repeat=n))
import itertools; r = [list(t) for t in itertools.tee([1, 2], n)], list(itertools.accumulate([n, n]))
import functools; r = functools.reduce(lambda a, b: a * n + b, range(n)), functools.partial(pow, n)(2)
import operator; r = operator.itemgetter(n)([1,2,3,4,5,6]), operator.index(n), operator.mul([1], n), operator.length_hint([1], n)
import datetime; r = datetime.date(2000, n, n), datetime.timedelta(n, seconds=n)
import datetime; r = datetime.date(2000, 1, 1).replace(day=n), datetime.datetime(2000 + n, n, n, n)
import decimal; r = decimal.Decimal(n), decimal.Decimal((0, (n,), n)), round(decimal.Decimal('1.23456'), n)
import fractions; r = fractions.Fraction(n, 6), fractions.Fraction('1/3') ** n
import random; g = random.Random(n); r = g.random(), g.randrange(n + 5), g.sample(range(10), n)
import time; r = time.gmtime(n).tm_sec, time.strftime('%S', time.gmtime(n))
import heapq; h = [5, 4, 9]; heapq.heapify(h); heapq.heappush(h, n); r = heapq.nsmallest(n, h), h
import bisect; r = bisect.bisect([1,2,3,4,5,6], n), bisect.bisect_left([1,2,3,4], 3, n - 2)
import re; r = re.compile('a').split('xaxaxaxaxax', n), re.sub('a', 'b', 'aaaaaaa', n), re.match('(a)(b)(c)(d)(e)', 'abcde').group(n)
import json; r = json.dumps({'a': n}, indent=n), json.dumps([n])
import io; f = io.BytesIO(b'abcdefghij'); f.seek(n); r = f.read(n), f.tell(), f.truncate(n)
import io; f = io.StringIO('abcdefghij'); r = f.read(n), f.seek(n), f.readline(n)
import textwrap; r = textwrap.wrap('aaa bbb ccc ddd', int(n) + 3)
import types; s = types.SimpleNamespace(a=n); s.b = n; r = s, s.a
import enum; E = enum.IntEnum('E', {'A': n}); r = E.A, E(n)
import copy; r = copy.copy([n]), copy.deepcopy({'a': [n]}), copy.copy(n)
import pickle; r = pickle.loads(pickle.dumps([n])), pickle.loads(pickle.dumps(n, 2))
import base64; r = base64.b64encode(bytes([n])), bytes(2).hex('-', n) if n else 0
import zlib; r = zlib.crc32(b'abc', n), zlib.adler32(b'abc', n), zlib.compress(b'aaaa', n)
import statistics; r = statistics.mean([n, n]), statistics.median([n, 1])
import string; r = string.Template('$a').substitute(a=n), string.Formatter().format('{:d}', n)
import inspect; r = inspect.signature(lambda a=n: a).parameters['a'].default
e = BlockingIOError(1, 'a', n); r = e.characters_written
e = OSError(n, 'text'); r = type(e).__name__, e.errno
e = SystemExit(n); r = e.code, e.args
e = UnicodeDecodeError('utf-8', b'abcdefgh', n, n + 1, 'r'); r = e.start, e.end, str(e)
e = StopIteration(n); r = e.value
e = SyntaxError('m', ('f', n, n, 't')); r = e.lineno, e.offset, str(e)
e = ImportError('m', name='a', path=n); r = e.path
import contextlib; r = contextlib.nullcontext(n).enter_result
import dataclasses; D = dataclasses.make_dataclass('D', ['a', ('b', int, n)]); r = D(n), dataclasses.replace(D(1), a=n)
import dataclasses; D = dataclasses.make_dataclass('D', ['a', ('b', int, n)]); r = dataclasses.asdict(D(n))
import weakref; r = weakref.WeakValueDictionary().get(n, n)
import sys; r = sys.intern('a') * n, sys.getsizeof(0) * n
import locale; r = locale.format_string('%d', n)
import calendar; r = calendar.monthrange(2000, n), calendar.isleap(2000 + n)
import colorsys; r = colorsys.rgb_to_hsv(n, n, 0)
import uuid; r = uuid.UUID(int=n)
import ipaddress; r = ipaddress.ip_address(n), ipaddress.ip_network('10.0.0.0/8').prefixlen + n
import hashlib; r = hashlib.sha256(bytes([n])).hexdigest()
import binascii; r = binascii.crc32(b'a', n), binascii.hexlify(bytes([n, n]), '-', n)
import unicodedata; r = unicodedata.name(chr(n + 60))
import codecs; r = codecs.encode('a' * n, 'rot13')
import queue; q = queue.Queue(n); q.put(n); r = q.get(), q.maxsize
import threading; s = threading.Semaphore(n); r = s.acquire(False), s._value
import numpy; r = numpy.arange(n).tolist(), numpy.zeros(n).shape, numpy.int64(n).item(), numpy.ones((2, 2))[n - n].tolist()
import numpy; a = numpy.arange(6); a[0] = n; r = a.tolist(), a.reshape(n, -1).shape if 6 % n == 0 else 0
import numpy; r = numpy.full(3, n).tolist(), numpy.linspace(0, 1, n).tolist(), numpy.power(n, 2)
r = slice(n).indices(10), slice(1, n, 2).indices(n), slice(n) == slice(n)
r = sorted([3, n, 1]), max(n, 3), min([n, 3]), sum([n, n]), sum([[n]], [])
r = any([n]), list(zip(range(n), 'abc')), list(enumerate('ab', n)), list(map(str, [n]))
r = isinstance(n, int), type(n), callable(n), repr(n), ascii(n), format(n, 'd'), n.__class__, issubclass(type(n), int)
r = {n: 1}, {n}, {n: 1}.get(n), n in [1, n], [n].count(n), (n,) == (n,), [n] < [n + 1], frozenset([n])
r = dict.fromkeys(range(n)), dict([(n, n)]), {**{'a': n}}, {1: 2} | {n: n}
r = eval('n + 1'), eval('n * k', {'k': n}, {'n': n})
r = compile('1', 'f', 'eval').co_firstlineno + n
r = getattr(n, 'real'), n.__add__(1), int.__mul__(n, n), n.__lt__(3), n.__format__('04'), n.__reduce_ex__(2)
import ctypes; c = ctypes.c_int(n); c.value = n + 1; r = c.value, (ctypes.c_int * n)()[0]
import select, os; r = os.strerror(n), os.fspath('a') * n
import logging; r = logging.getLevelName(n * 10), logging.makeLogRecord({'levelno': n}).levelno
import warnings; r = warnings.WarningMessage('m', UserWarning, 'f', n).lineno
import traceback; r = traceback.FrameSummary('f', n, 'g').lineno
import ast; r = ast.literal_eval(str(n)), ast.Constant(n).value
import shlex; r = shlex.quote('a' * n)
import difflib; r = difflib.get_close_matches('abc', ['abd', 'xyz'], n)
import fnmatch, posixpath; r = posixpath.join('a', 'b' * n)
import graphlib; g = graphlib.TopologicalSorter(); g.add(n, 1); r = list(g.static_order())
""".strip().splitlines()

BLOCKS = [
    """
    def h(a, b=1): return a + b
    h.__defaults__ = (n,); h.x = n; r = h(1), h.x
    """,
    """
    def gen():
        got = yield n
        yield got * n
    g = gen(); r = next(g), g.send(n)
    """,
    """
    class C:
        __slots__ = ('a',)
    c = C(); c.a = n; r = c.a
    """,
    """
    class C(int): pass
    r = C(n) + 1, C(n)
    """,
    """
    class C(Exception): pass
    c = C(n); c.args = (n, n); c.__traceback__ = None; r = c.args
    """,
    """
    class C:
        def __index__(self): return n
    r = [1,2,3,4,5,6][C()], range(C()), bytes(C()), hex(C())
    """,
    """
    class C:
        def __len__(self): return n
        def __getitem__(self, i): return i
    r = len(C()), bool(C()), list(reversed(C()))
    """,
    """
    class C:
        def __hash__(self): return n
    r = hash(C()), len({C(), C()})
    """,
    """
    class C:
        def __length_hint__(self): return n
        def __iter__(self): return iter((1, 2))
    r = list(C())
    """,
    """
    class C:
        def __bool__(self): return n > 3
    r = bool(C()), not C()
    """,
    """
    class C:
        def __int__(self): return n
        __index__ = __trunc__ = __int__
        def __float__(self): return float(n)
    r = int(C()), float(C()), complex(C())
    """,
    """
    class C:
        def __round__(self, d=None): return d
        def __format__(self, s): return s * n
    r = round(C(), n), f'{C():a}'
    """,
    """
    match n:
        case 3: r = 'three'
        case int(k) if k > 3: r = k
        case _: r = 'other'
    """,
    """
    match [n, 1]:
        case [3, *rest]: r = rest
        case [a, b]: r = a
        case _: r = 0
    """,
]


def function_of(block: str) -> Callable[..., Any]:
    body = textwrap.indent(textwrap.dedent(block).strip(), " " * 8)
    error = "    except Exception as error:\n        r = type(error).__name__, str(error)"
    names: dict[str, Any] = {"torch": torch}
    exec(f"def f(x, n):\n    try:\n{body}\n{error}\n    return x + 1, r\n", names)
    return names["f"]


def answer(function: Callable[..., Any], number: Any) -> str:
    """The result of the function, in words, without addresses."""
    if isinstance(number, torch.Tensor):
        number = number.clone()  # n -= 1 writes to it
    try:
        text = repr(function(torch.ones(1), number)[1])
    except Exception as error:
        text = repr(error)
    return re.sub("0x[0-9a-f]+", "0x", text)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("block", [*(line.replace("; ", "\n") for line in STATEMENTS), *BLOCKS])
def test_a_changing_number_is_what_it_stands_for(block: str) -> None:
    function = function_of(block)
    for kind, numbers in KINDS.items():
        captured = minidynamo.compile(function, backend="eager", dynamic=True if kind == "int" else None)
        for number in numbers:
            assert answer(captured, number) == answer(function, number), (kind, number)
