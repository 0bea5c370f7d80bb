"""Each row of csrc/world/external/types.def, by an example: an object of the type from before the call, and one that is made in it."""

import collections
import contextvars
import importlib
import itertools
import re
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch

import minidynamo
from minidynamo import _C

MODULES = [
    "array",
    "collections",
    "datetime",
    "functools",
    "io",
    "itertools",
    "numpy",
    "operator",
    "random",
    "re",
    "struct",
    "sys",
    "threading",
    "torch",
    "types",
    "typing",
    "weakref",
]


class Kept:
    """Something to refer to."""

    def method(self) -> None: ...

    def __getitem__(self, index: int) -> int:
        return [1, 2][index]


def called() -> None: ...


KEPT = Kept()
VARIABLE: contextvars.ContextVar[int] = contextvars.ContextVar("VARIABLE")

EXAMPLES = """
"ab"
b"ab"
12345
1.5
1j
True
range(3)
None
...
NotImplemented
torch.float64
torch.device("cpu", 0)
torch.strided
torch.channels_last
torch._C._distributed_c10d.ProcessGroup(0, 1)
torch.Size([1, 2])
torch.finfo(torch.float32)
torch.iinfo(torch.int8)
datetime.date(2020, 1, 2)
datetime.time(3)
datetime.datetime(2020, 1, 2)
datetime.timedelta(2)
datetime.timezone(datetime.timedelta(hours=1))
numpy.dtype([("a", int)])
numpy.dtype("float32")
numpy.str_("a")
numpy.float32(1.5)
numpy.bool(True)
(1, x)
sys.version_info
[1, x]
{"a": x}
{1, 2}
frozenset([1, 2])
slice(1, 2)
collections.OrderedDict(a=x)
collections.defaultdict(list, a=x)
collections.deque([1, x], 4)
bytearray(b"ab")
memoryview(b"ab")
{"a": 1}.keys()
{"a": 1}.values()
{"a": 1}.items()
types.MappingProxyType({"a": 1})
types.CellType(3)
iter([1, 2])
iter((1, 2))
iter(range(2))
iter({"a": 1})
iter({"a": 1}.values())
iter({"a": 1}.items())
enumerate([1, 2])
zip([1, 2], [3, 4])
map(abs, [1, 2])
filter(None, [1, 2])
reversed((1, 2))
iter(int, 1)
iter(Kept())
reversed([1, 2])
reversed({"a": 1})
reversed({"a": 1}.values())
reversed({"a": 1}.items())
iter(collections.deque([1, 2]))
reversed(collections.deque([1, 2]))
iter({1})
iter(b"ab")
iter("é")
iter("ab")
(a for a in (1, 2))
itertools.accumulate([1, 2])
itertools.chain([1], [2])
itertools.combinations([1, 2, 3], 2)
itertools.combinations_with_replacement([1, 2], 2)
itertools.compress([1, 2], [0, 1])
itertools.count(3)
itertools.cycle([1, 2])
itertools.dropwhile(operator.not_, [0, 1])
itertools.filterfalse(operator.not_, [0, 1])
itertools.groupby([1, 1, 2])
itertools.islice([1, 2, 3], 2)
itertools.pairwise([1, 2, 3])
itertools.permutations([1, 2])
itertools.product([1, 2], [3])
itertools.repeat(1, 2)
itertools.starmap(max, [(1, 2)])
itertools.takewhile(operator.not_, [0, 1])
next(itertools.groupby([1, 1, 2]))[1]
itertools.tee([1, 2])[0]
itertools._tee_dataobject(iter([1, 2]), [], None)
itertools.zip_longest([1], [2, 3])
lambda: 3
Kept.method.__get__(KEPT)
[1].append
KEPT.__str__
functools.partial(max, 3)
functools.lru_cache(abs)
operator.attrgetter("a")
operator.itemgetter(1)
operator.methodcaller("a")
int
object()
super(Kept, KEPT)
property(abs)
classmethod(abs)
staticmethod(abs)
str.upper
str.__len__
vars(dict)["fromkeys"]
vars(type)["__dict__"]
types.FunctionType.__closure__
list[int]
int | None
KeyError(1)
sys
Kept.method.__code__
sys._getframe()
types.TracebackType(None, sys._getframe(), 0, 1)
datetime.datetime_CAPI
types.SimpleNamespace(a=1)
weakref.ref(KEPT)
weakref.proxy(KEPT)
VARIABLE
re.compile("a")
re.match("a", "ab")
struct.Struct("i")
torch.Generator()
numpy.random.RandomState(3)
numpy.random.default_rng(3)
weakref.proxy(called)
threading.Lock()
threading.RLock()
random.Random(3)
random.Random.__base__(3)
io.StringIO("ab")
io.BytesIO(b"ab")
io.TextIOWrapper(io.BytesIO())
array.array("i", [1])
numpy.arange(3)
collections.OrderedDict(a=1).keys()
collections.OrderedDict(a=1).values()
collections.OrderedDict(a=1).items()
iter(collections.OrderedDict(a=1))
vars(collections.namedtuple("Pair", "a b"))["a"]
torch._C._VariableFunctions
threading.local()
"""
if sys.version_info >= (3, 12):
    EXAMPLES += """
itertools.batched([1, 2, 3], 2)
typing.TypeVar("T")
typing.ParamSpec("P")
typing.TypeVarTuple("Ts")
typing.TypeAliasType("Alias", int)
""".lstrip()
if sys.version_info >= (3, 14):
    EXAMPLES += "functools.Placeholder\n"


NAMES = {name: importlib.import_module(name) for name in MODULES}
NAMES |= {"KEPT": KEPT, "Kept": Kept, "VARIABLE": VARIABLE, "called": called, "x": torch.ones(2)}


def shown(value: Any) -> str:
    """How a value looks, without addresses."""
    return re.sub(r"0x[0-9a-f]+", "0x", repr(value))


def parts(value: Any) -> Any:
    """The comparable parts of an object that has been made twice."""
    if isinstance(value, weakref.ProxyTypes):
        return type(value), shown(value.__repr__())
    if hasattr(value, "__next__"):
        # CPython takes an iterator over a set for one over a list when it reduces it.
        is_over_set = isinstance(value, type(iter(set())))
        return type(iter([])) if is_over_set else type(value), shown(list(itertools.islice(value, 5)))
    if isinstance(value, types.FunctionType):
        return type(value), value.__code__, value()
    if isinstance(value, property | classmethod | staticmethod):
        return type(value), getattr(value, "__func__", getattr(value, "fget", None))
    if isinstance(value, types.FrameType | types.TracebackType | types.CodeType | torch.Generator):
        return type(value)
    if type(value).__module__.startswith("numpy.random"):
        return type(value), str(value.__reduce__()[1][0].state)
    return type(value), shown(value)


def function(body: str) -> Callable[..., Any]:
    names = dict(NAMES)
    exec(f"def f(x, given=None):\n{body}", names)
    return names["f"]  # type: ignore[no-any-return]


@pytest.mark.parametrize("example", EXAMPLES.strip().split("\n"))
def test_made_in_the_call(example: str) -> None:
    f = function(f"    made = {example}\n    return x + 1, made")
    captured = minidynamo.optimize(backend="eager")(f)
    for _ in range(2):
        expected, got = f(torch.ones(2))[1], captured(torch.ones(2))[1]
        assert parts(got) == parts(expected)


@pytest.mark.parametrize("example", EXAMPLES.strip().split("\n"))
def test_made_before_the_call(example: str) -> None:
    f = function("    return x + 1, given, [given], type(given), given is given, given is None")
    captured = minidynamo.optimize(backend="eager")(f)
    ways = collections.defaultdict(str, {row["type"]: row["enters"] for row in _C.c_types()})
    x = torch.ones(2)
    for _ in range(2):
        given = eval(example, NAMES)
        passed_on = captured(x, given)
        is_value = "by its value" in ways[type(given)]
        assert (passed_on[1] is given and passed_on[2][0] is given) or (is_value and passed_on[1] == passed_on[2][0] == given)
        assert passed_on[3:] == (type(given), True, given is None)
        assert parts(given) == parts(eval(example, NAMES))  # nothing was taken from it


def test_every_row_has_an_example() -> None:
    made = {type(eval(example, NAMES)) for example in EXAMPLES.strip().split("\n")}
    rows = {row["type"]: row["is_family"] for row in _C.c_types()}
    # The getters of the first are those of what derives from it; the second takes a library of C++ to have; autograd makes the last.
    abstract = {NAMES["numpy"].generic, torch._C.ScriptObject, torch._C._FunctionBase}
    missing = [row for row, is_family in rows.items() if not any(a is row or (is_family and issubclass(a, row)) for a in made)]
    assert set(missing) == abstract
