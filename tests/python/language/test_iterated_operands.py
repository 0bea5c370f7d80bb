"""Operations that iterate an operand: each operation of CPython and its library that takes an iterable, with iterables of each kind.

The items, and how far an iterator has gone, are those of eager Python, in a second call with other contents as well: a trace may
run no iterator of the program's for real, nor rely on what it yielded at the capture.
"""

import array
import ast
import collections
import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import minidynamo

# Each is an expression or statements over `it`, an iterable of small ints; `L` is a list and `A` an array from before the call.
OPERATIONS = r"""
3 in it
3 not in it
L[:] = it
L[1:2] = it
L[::2] = it
L.__setitem__(slice(1, 2), it)
list.__setitem__(L, slice(1, 2), it)
operator.setitem(L, slice(1, 2), it)
M = [1, 2]; M[1:] = it; return M
M = [1, 2, 3, 4, 5]; M[::2] = it; return M
M = [0]; M += it; return M
L += it
L.extend(it)
list.extend(L, it)
operator.iadd(L, it)
L.__iadd__(it)
list(it)
[*it]
tuple(it)
(1, *it)
{*it}
set(it)
frozenset(it)
sorted(it)
sorted(it, key=abs, reverse=True)
a, b, c = it; return a, b, c
a, *b = it; return a, b
*a, b = it; return a, b
several(*it)
several(0, *it, key=1)
print(*it, file=io.StringIO())
sum(it)
sum(it, 5)
min(it)
max(it)
min(it, key=abs)
max(it, default=3)
any(it)
all(it)
list(zip(it))
list(zip(it, [1, 2], strict=False))
list(zip([1], it))
list(map(abs, it))
list(filter(None, it))
list(enumerate(it))
list(iter(it))
next(iter(it))
[i + 1 for i in it]
{i: 1 for i in it}
for i in it:\n    if i: break\nreturn i
dict.fromkeys(it)
dict(zip(it, "abc"))
dict((i, i) for i in it)
d = {}; d.update((i, 1) for i in it); return d
d = {1: 2}; d |= [(i, 1) for i in it]; return d
bytes(it)
bytearray(it)
b = bytearray(b"ab"); b.extend(it); return b
b = bytearray(b"ab"); b[1:] = it; return b
b = bytearray(b"abcde"); b[::2] = it; return b
s = {1}; s.update(it); return s
{1, 2}.union(it)
{1, 2}.intersection(it)
{1, 2}.difference(it)
{1, 2}.symmetric_difference(it)
s = {1, 2}; s.intersection_update(it); return s
s = {1, 2}; s.difference_update(it); return s
s = {1, 2}; s.symmetric_difference_update(it); return s
{1, 2}.issubset(it)
{1, 2}.issuperset(it)
{1, 2}.isdisjoint(it)
frozenset([1, 2]).union(it)
{1: 2}.keys() & it
{1: 2}.keys() | it
it & {1: 2}.keys()
{1: 2}.keys() - it
{1: 2}.keys() ^ it
{1: 2}.keys().isdisjoint(it)
{1: 2}.items() & it
", ".join(map(str, it))
", ".join(str(i) for i in it)
"".join(it)
b"".join(it)
collections.deque(it)
collections.deque(it, 2)
d = collections.deque([0]); d.extend(it); return d
d = collections.deque([0]); d.extendleft(it); return d
d = collections.deque([0]); d += it; return d
collections.Counter(it)
c = collections.Counter(); c.update(it); return c
c = collections.Counter([1]); c.subtract(it); return c
collections.OrderedDict.fromkeys(it)
collections.UserList(it)
Point._make(it)
Point(*it)
array.array("i", it)
a = array.array("i"); a.extend(it); return a
a = array.array("i", [1]); a[:] = it; return a
functools.reduce(operator.add, it)
functools.reduce(operator.add, it, 7)
list(itertools.chain(it, [1]))
list(itertools.chain.from_iterable([it]))
list(itertools.chain.from_iterable(i for i in [it]))
list(itertools.chain(*[it]))
list(itertools.starmap(several, [it]))
list(itertools.starmap(several, (i for i in [it])))
list(itertools.product(*[it]))
list(zip(*[it]))
list(map(list, [it]))
list(map(sum, (i for i in [it])))
list(filter(any, [it]))
sorted([it], key=list) and None
max([it], key=sum) and None
dict([it])
dict(i for i in [it])
d = {}; d.update([it]); return d
d = {}; d.update(i for i in [it]); return d
d = {}; d |= [it]; return d
collections.OrderedDict([it])
collections.defaultdict(int, [it])
collections.Counter(dict([it]))
functools.partial(sum)(it)
operator.methodcaller("union", it)({1})
functools.reduce(operator.or_, [{1}, set(it)])
[a for a, *_ in [it]]
for a, *b in [it]:\n    pass\nreturn a, b
[(a, b) for a, b in zip(it, it)]
list(itertools.zip_longest(it, it))
a, b = itertools.tee(it); return list(a), next(b)
L[:] = (i + 1 for i in it)
L[1:2] = map(several, it)
L[:] = zip(it)
L[:] = [i for i in it]
b = bytearray(b"ab"); b[1:] = (i + 1 for i in it); return b
m = memoryview(bytearray(b"abcd")); m[1:4] = it; return bytes(m)
m = memoryview(bytearray(b"abcd")); m[1:4] = bytes(it); return bytes(m)
d = collections.deque([1, 2]); d[0] = it; return d[0] is it
M = [1]; M[0] = it; return M[0] is it
M = [1, 2]; M[0:0] = [it]; return M[0] is it
del L[:]; L.extend(it); return L
heapq.heapify(L); return heapq.heappushpop(L, next(iter(it)))
bisect.bisect(list(it), 1)
b"%b" % bytes(it)
b"a".join([bytes(it)])
"abc".translate(dict([it]))
collections.ChainMap(dict([it]))
int.from_bytes(it, "big")
array.array("b", bytes(it))
slice(*it)
range(*it)
pow(*it)
divmod(*it)
[it] == [A]
[it] != [[3, 1, 2]]
(it, 1) == (A, 1)
(it, 1) < (A, 2)
[it] < [A]
A in [it]
it in [A]
[A].index(it)
[it].count(A)
M = [it, 1]; M.remove(A); return len(M)
sorted([it, A]) and None
min([it, A]) is it
max(it, A) is it
{1: it} == {1: A}
{1: it}.items() == {1: A}.items()
(1, it) in {1: A}.items()
collections.deque([it]) == collections.deque([A])
collections.OrderedDict(a=it) == collections.OrderedDict(a=A)
collections.deque([it]).count(A)
types.SimpleNamespace(a=it) == types.SimpleNamespace(a=A)
functools.partial(several, it) == functools.partial(several, A)
slice(it) == slice(A)
str([it])
repr({1: it})
f"{[it]!r}"
"%s" % [it]
"%s %r" % (it, 1)
"{0[0]}".format(it)
"{0}".format((it,))
"{a!r}".format(a=it)
"{a[1]}".format_map({"a": it})
print([it], file=io.StringIO())
copy.copy([it])[0] is it
copy.copy(it) == it
copy.deepcopy([list(it)])
pickle.loads(pickle.dumps([list(it)]))
json.dumps([it])
sum([[1], it], [])
heapq.merge([it], [A]).__next__() is it
M = [it]; heapq.heappush(M, A); return M[0] is it
bisect.bisect([it], A)
bisect.insort([it], A)
hash((it,)) == hash((it,))
{1, 2} == it
{1, 2} <= it
{1: 2}.keys() == it
[len(list(g)) for k, g in itertools.groupby([it, A])]
operator.itemgetter(0)(it)
operator.itemgetter(0, 1)([it, it])[0] is it
operator.itemgetter(slice(1, 2))(it)
operator.attrgetter("typecode")(it)
operator.eq([it], [A])
operator.concat(it, it)
operator.index(it)
math.sqrt(it)
float(it)
int(it)
str(it)
memoryview(it).tolist()
bytes().join([it])
"abc".replace("a", it)
"abc".startswith(it)
"abc".startswith(tuple(map(str, it)))
isinstance(3, it)
getattr(it, "typecode", None)
type(it)(it) == it
collections.abc.Sized in type(it).__mro__
A[:] == it
A + it
it + A
it * 2 == A
random.Random(1).shuffle(it)
struct.unpack("i", it)
b"abc" + it
b"abc" in it
zlib.crc32(it)
base64.b64encode(it)
hashlib.md5(it).hexdigest()
io.BytesIO(it).read()
int.from_bytes(it, "little")
array.array("i", [1]) < it
torch.tensor(it)
torch.tensor([it])
torch.as_tensor(it)
torch.frombuffer(it, dtype=torch.int32)
x.new_tensor(it)
x.new_zeros(it).shape
torch.zeros(it).shape
torch.full(it, 1).shape
torch.ones(*it).shape
x.reshape(it).shape
x.view(it).shape
x.repeat(it).shape
x.expand(it).shape
x[it]
x[[it]]
x.reshape(1, 2, 3).permute(it).shape
x.reshape(1, 2, 3).sum(it)
x.split(it)
x.index_select(0, it)
torch.stack(it)
torch.cat([it])
torch.cat(it)
torch.einsum("i,i->", [x, x]) if it else it
y = x.clone(); y[it] = 1; return y
y = x.clone(); y[:3] = it; return y
x + it
it == x
torch.nn.functional.pad(x, it).shape
torch.nn.functional.interpolate(x.reshape(1, 1, 6), it).shape
torch.tensor_split(x, it)
torch.block_diag(*it)
torch.utils._pytree.tree_map(several, it)
np.array(it)
np.array(list(it))
np.asarray([it])
np.sum(it)
np.fromiter(it, int)
np.zeros(it).shape
np.ones(6)[it]
np.concatenate([it, [1]])
a = np.zeros(3); a[:] = it; return a
list(itertools.islice(it, 2))
list(itertools.accumulate(it))
list(itertools.takewhile(bool, it))
list(itertools.dropwhile(bool, it))
list(itertools.filterfalse(None, it))
list(itertools.compress("abc", it))
list(itertools.compress(it, [1, 0, 1]))
list(itertools.combinations(it, 2))
list(itertools.permutations(it, 2))
list(itertools.product(it, [1, 2]))
list(itertools.zip_longest(it, [1, 2]))
list(itertools.pairwise(it))
list(itertools.starmap(several, zip(it)))
[list(part) for part in itertools.tee(it)]
[(k, list(g)) for k, g in itertools.groupby(it)]
list(itertools.islice(itertools.cycle(it), 5))
heapq.nlargest(2, it)
heapq.nsmallest(2, it)
list(heapq.merge(it, [1, 2]))
math.fsum(it)
math.prod(it)
math.gcd(*it)
statistics.mean(it)
operator.contains(it, 3)
operator.indexOf(it, 2)
operator.countOf(it, 2)
operator.length_hint(it)
memoryview(bytes(it)).tolist()
list(reversed(list(it)))
list(reversed(it))
len(list(it))
len(it)
bool(it)
it == it
it[0]
it[1:]
it + it
it * 2
isinstance(it, collections.abc.Iterator)
struct.pack("3i", *it)
"{} {} {}".format(*it)
"%d %d %d" % tuple(it)
os.path.join("a", *map(str, it))
io.StringIO().writelines(it)
json.dumps(list(it))
random.Random(0).choices(list(it))
(lambda: (yield from it))().__next__()
list((lambda: (yield from it))())
match it:\n    case [a, *b]:\n        return a, b\n    case _:\n        return "no sequence"
torch.tensor(list(it))
torch.stack([x + i for i in it])
torch.Size(it)
x.reshape(*it).shape
x.new_tensor(list(it))
x.sum(dim=tuple(it)[:1])
torch.cat([x, *(x * i for i in it)])
x[list(it)]
torch.utils._pytree.tree_leaves(list(it))
torch.nn.ModuleList(torch.nn.Identity() for _ in it).__len__()
torch.nn.ParameterList(torch.ones(1) for _ in it).__len__()
"""

PRELUDE = """
import array, base64, bisect, collections, collections.abc, copy, functools, hashlib, heapq, io
import itertools, json, math, operator, os, pickle, random, statistics, struct, types, zlib
import torch
import numpy as np
Point = collections.namedtuple("Point", "a b c")
def several(*given, **named):
    return given, named
L = []
"""

# Iterables that the function makes of a list that it is given.
MADE_INSIDE = [
    "generator(it)",
    "breaking(it)",
    "(i + 1 for i in it)",
    "map(abs, it)",
    "map(lambda i: i + 1, it)",
    "filter(None, it)",
    "iter(it)",
    "reversed(it)",
    "itertools.chain(it, [2])",
    "itertools.chain.from_iterable(generator([it, [2]]))",
    "itertools.islice(generator(it), 1, None)",
    "Iterating(it)",
    "dict.fromkeys(it)",
    "dict(enumerate(it)).values()",
    "set(it)",
    "collections.deque(it)",
    "torch.tensor(it)",
    "iter(torch.tensor(it))",
    "(x[i] for i in it)",
]


def generator(items: list[int]) -> Iterator[int]:
    yield from items


def breaking(items: list[int]) -> Iterator[int]:
    for item in items:
        minidynamo.graph_break()
        yield item


class Iterating:
    """An iterator of the program's own."""

    def __init__(self, items: list[int]) -> None:
        self.items = list(items)

    def __iter__(self) -> "Iterating":
        return self

    def __next__(self) -> int:
        if not self.items:
            raise StopIteration
        return self.items.pop(0)


class Indexed:
    """Iterable by its items alone."""

    def __init__(self, items: list[int]) -> None:
        self.items = items

    def __getitem__(self, index: int) -> int:
        return self.items[index]


class Iterable:
    def __init__(self, items: list[int]) -> None:
        self.items = items

    def __iter__(self) -> Iterator[int]:
        return generator(self.items)


class OwnList(list[int]):
    pass


class LoudList(list[int]):
    def __iter__(self) -> Iterator[int]:
        return generator([item + 1 for item in list.__getitem__(self, slice(None))])


def begun(iterator: Iterator[int]) -> Iterator[int]:
    next(iterator)
    return iterator


KINDS: dict[str, Callable[[list[int]], Any]] = {
    "generator": generator,
    "generator begun": lambda items: begun(generator([7, *items])),
    "generator expression": lambda items: (item + 1 for item in items),
    "generator that breaks": breaking,
    "map of Python": lambda items: map(lambda item: item + 1, items),  # noqa: C417
    "map of C": lambda items: map(abs, items),
    "filter": lambda items: filter(None, items),
    "iterator of a list": iter,
    "iterator of a list begun": lambda items: begun(iter([7, *items])),
    "iterator of a tuple": lambda items: iter(tuple(items)),
    "iterator of a dict": lambda items: iter(dict.fromkeys(items)),
    "iterator of a set": lambda items: iter(set(items)),
    "iterator of a range": lambda items: iter(range(len(items))),
    "reversed": reversed,
    "enumerate's second": lambda items: (item for _, item in enumerate(items)),
    "chain": lambda items: itertools.chain(items, [2]),
    "chain of a generator": lambda items: itertools.chain(generator(items), [2]),
    "islice": lambda items: itertools.islice(items, 1, None),
    "deque's iterator": lambda items: iter(collections.deque(items)),
    "an iterator class": Iterating,
    "an iterable class": Iterable,
    "by items": Indexed,
    "list": list,
    "tuple": tuple,
    "set": set,
    "dict": dict.fromkeys,
    "dict values": lambda items: dict(enumerate(items)).values(),
    "range": lambda items: range(len(items)),
    "bytes": bytes,
    "deque": collections.deque,
    "subclass of list": OwnList,
    "subclass of list with an iterator": LoudList,
    "array": lambda items: array.array("i", items),
    "tensor": lambda items: torch.tensor(items),
    "iterator of a tensor": lambda items: iter(torch.tensor(items)),
}


def function_of(operation: str, made_inside: str | None = None) -> Callable[..., Any]:
    """`def f(it, x)` of the operation, over a list L of its own."""
    statements = operation.replace(r"\n", "\n")
    if "return" in operation:
        statements = statements.replace("; ", "\n")
    if len(ast.parse(statements).body) == 1 and isinstance(ast.parse(statements).body[0], ast.Expr):
        statements = f"return {statements}"
    begin = ["global L"]
    if made_inside:
        begin.append(f"it = {made_inside}")
    text = PRELUDE + "def f(it, x):\n" + "".join(f"    {line}\n" for line in [*begin, *statements.splitlines()])
    namespace: dict[str, Any] = {"__name__": __name__, "generator": generator, "breaking": breaking, "Iterating": Iterating}
    exec(compile(text, operation, "exec"), namespace)
    return namespace["f"]


def drawn(value: Any) -> Any:
    """The visible parts of a result."""
    if isinstance(value, torch.Tensor):
        return f"{value.dtype} {tuple(value.shape)} {value.tolist()}"
    if isinstance(value, dict):
        return type(value).__name__, [(drawn(key), drawn(item)) for key, item in value.items()]
    if isinstance(value, list | tuple | collections.deque | collections.UserList):
        return type(value).__name__, [drawn(item) for item in value]
    if isinstance(value, set | frozenset):
        return type(value).__name__, sorted(map(drawn, value), key=str)
    if isinstance(value, Iterating | Iterable | Indexed):
        return type(value).__name__, value.items
    return type(value).__name__, repr(value).partition(" at 0x")[0]


CONTENTS = [[3, 1, 2], [3, 1, 2], [1, 5, 0], [2, 1, 0, 4], [], [2, 1]]


def run(f: Callable[..., Any], make: Callable[[list[int]], Any], contents: list[int]) -> Any:
    held = f.__globals__
    held["L"] = rows = [8, 9, 8]
    held["A"] = array.array("i", contents)
    iterable = make(contents)
    x = torch.arange(6.0)
    try:
        result = drawn(f(iterable, x))
    except Exception as error:
        result = f"{type(error).__name__}: {re.sub('0x[0-9a-f]+', 'address', str(error))}"
    rest = drawn(list(iterable)) if hasattr(iterable, "__next__") or isinstance(iterable, list) else None
    return result, rows, held["L"], rest


@pytest.mark.parametrize("kind", KINDS)
def test_operations(kind: str) -> None:
    check(KINDS[kind])


@pytest.mark.parametrize("made", MADE_INSIDE)
def test_iterables_made_inside(made: str) -> None:
    check(list, made)


def check(make: Callable[[list[int]], Any], made_inside: str | None = None) -> None:
    wrong = []
    for operation in OPERATIONS.strip().splitlines():
        expected_of, f = function_of(operation, made_inside), function_of(operation, made_inside)
        minidynamo.reset()
        captured = minidynamo.compile(f, backend="eager")
        for number, contents in enumerate(CONTENTS):
            expected, actual = run(expected_of, make, contents), run(captured, make, contents)
            if expected != actual:
                wrong.append(f"{operation!r}, call {number}: expected {expected}, got {actual}")
    assert not wrong, "\n".join(wrong)
