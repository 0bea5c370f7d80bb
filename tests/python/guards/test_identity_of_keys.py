"""Where C code compares or hashes objects by what they are, the next call may bring another one, or the same one twice.

Objects without `__eq__` and `__hash__` of their own, bound methods, weak references and functions are looked up, counted, compared
and put into sets. The second call passes other objects in the same shape, the third the same object in two places.
"""

# The code is under test as it is spelled out here.
# ruff: noqa: C405, C406, C416, C420, PIE800, SIM118, SIM401

import bisect
import collections
import copy
import heapq
import itertools
import operator
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch

import minidynamo

X = torch.linspace(-1.0, 1.0, 4)


class Thing:
    def method(self) -> int:
        return 1


A, B, C = Thing(), Thing(), Thing()
PLAIN = {A: 1, B: 2}
ORDERED = collections.OrderedDict(PLAIN)
WEAK: Any = weakref.WeakKeyDictionary({A: 1, B: 2})
COUNTS = collections.Counter({A: 3})
DEFAULT = collections.defaultdict(int, PLAIN)
METHODS = {A.method: 1, B.method: 2}
PAIRS = {(A, 1): 1, (B, 1): 2}
LISTED = [A, B]
FROZEN = {frozenset([A]): 1, frozenset([B]): 2}
REFERENCES = {weakref.ref(A): 1, weakref.ref(B): 2}

USES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "get": lambda x, a, b: (x, PLAIN.get(a, 0), PLAIN.get(b)),
    "subscript": lambda x, a, b: (x, PLAIN[a] if a in PLAIN else None),
    "dict.get": lambda x, a, b: (x, dict.get(PLAIN, a, 0)),
    "operator.getitem": lambda x, a, b: (x, operator.getitem(PLAIN, a) if operator.contains(PLAIN, a) else 0),
    "itemgetter": lambda x, a, b: (x, operator.itemgetter(a)(PLAIN) if a in PLAIN else 0),
    "methodcaller": lambda x, a, b: (x, operator.methodcaller("get", a, 0)(PLAIN)),
    "operator.contains": lambda x, a, b: (x, operator.contains(PLAIN, a), operator.contains(LISTED, b)),
    "setdefault": lambda x, a, b: (x, dict(PLAIN).setdefault(a, 9)),
    "pop": lambda x, a, b: (x, dict(PLAIN).pop(a, 9)),
    "copy": lambda x, a, b: (x, PLAIN.copy().get(a), copy.copy(PLAIN).get(b)),
    "ordered": lambda x, a, b: (x, ORDERED.get(a, 0), a in ORDERED),
    "weak": lambda x, a, b: (x, WEAK.get(a, 0), a in WEAK),
    "counter": lambda x, a, b: (x, COUNTS[a], COUNTS.get(b, 7)),
    "counted": lambda x, a, b: (x, sorted(collections.Counter([a, b, a]).values())),
    "default": lambda x, a, b: (x, DEFAULT.get(a, 0)),
    "methods": lambda x, a, b: (x, METHODS.get(a.method, 0), a.method in METHODS, a.method == b.method),
    "pairs": lambda x, a, b: (x, PAIRS.get((a, 1), 0), (b, 1) in PAIRS),
    "frozen": lambda x, a, b: (x, FROZEN.get(frozenset([a]), 0)),
    "references": lambda x, a, b: (x, REFERENCES.get(weakref.ref(a), 0), weakref.ref(a) == weakref.ref(b)),
    "keys": lambda x, a, b: (x, a in PLAIN.keys(), a in list(PLAIN), (a, 1) in PLAIN.items()),
    "values": lambda x, a, b: (x, a in {1: A, 2: B}.values(), (1, a) in {1: b}.items()),
    "listed": lambda x, a, b: (x, a in LISTED, LISTED.count(a), LISTED.index(b) if b in LISTED else -1),
    "countOf": lambda x, a, b: (x, operator.countOf([a, b, a], b), operator.indexOf([a, b], b)),
    "removed": lambda x, a, b: (x, removed(a, b)),
    "equal": lambda x, a, b: (x, a == b, a != b, operator.eq(a, b), operator.ne(a, b), a is b, operator.is_(a, b)),
    "object.__eq__": lambda x, a, b: (x, object.__eq__(a, b) is True, a.__eq__(b) is True, a.__ne__(b)),
    "lists": lambda x, a, b: (x, [a] == [b], (a, 1) == (b, 1), {1: a} == {1: b}, [[a]] == [[b]]),
    "dict_keys": lambda x, a, b: (x, {a: 1} == {b: 1}, {a} == {b}, {a: 1}.keys() == {b: 1}.keys()),
    "deques": lambda x, a, b: (x, collections.deque([a]) == collections.deque([b]), a in collections.deque([b])),
    "set": lambda x, a, b: (x, len({a, b}), len(set([a, b])), len(frozenset([a, b])), len({*[a, b]})),
    "set_of_comprehension": lambda x, a, b: (x, len({i for i in [a, b]}), len({i: 1 for i in [a, b]})),
    "set_methods": lambda x, a, b: (x, len({a}.union([b])), len({a} & {b}), {a}.isdisjoint([b]), {a} <= {b}, len({a} ^ {b})),
    "set_update": lambda x, a, b: (x, updated(a, b)),
    "dicts": lambda x, a, b: (x, len({a: 1, b: 2}), len(dict([(a, 1), (b, 2)])), len(dict.fromkeys([a, b])), len({a: 1} | {b: 2})),
    "unpacked_dicts": lambda x, a, b: (x, len({**{a: 1}, **{b: 2}})),
    "fresh": lambda x, a, b: (x, {a: 1}.get(b, 0), b in {a}, b in [a], [a].count(b)),
    "groupby": lambda x, a, b: (x, len([key for key, _ in itertools.groupby([a, b])])),
    "bisect": lambda x, a, b: (x, bisect.bisect([(1, 2)], (1, 2)), len(heapq.nsmallest(1, [1, 2]))),
    "sorted_pairs": lambda x, a, b: (x, ordered_pairs(a, b)),
    "max_key": lambda x, a, b: (x, max([a, b], key=lambda t: t is b) is b),
    "functions": lambda x, a, b: (x, {removed: 1}.get(updated, 0), removed == updated),
}


def removed(a: Any, b: Any) -> Any:
    items = [a, b, a]
    items.remove(b)
    return [i is a for i in items]


def updated(a: Any, b: Any) -> int:
    found = set()
    found.add(a)
    found.update([b])
    found.discard(b)
    return len(found)


def ordered_pairs(a: Any, b: Any) -> Any:
    try:
        return [n for _, n in sorted([(a, 2), (b, 1)])]
    except TypeError:
        return "TypeError"


def outcome(f: Callable[..., Any], *args: Any) -> Any:
    try:
        return f(*args)[1:]
    except Exception as error:
        return type(error).__name__


@pytest.mark.parametrize("use", USES)
def test_use(use: str) -> None:
    f = USES[use]
    captured = minidynamo.compile(lambda x, a, b: f(x + 1, a, b), backend="eager")
    for a, b in [(A, B), (B, A), (C, A), (A, A), (A, C), (Thing(), Thing()), (A, B)]:
        assert outcome(captured, X, a, b) == outcome(f, X, a, b)
    captured = minidynamo.compile(lambda x, a, b: f(x + 1, a, b), backend="eager")
    for a, b in [(C, C), (A, C), (C, A), (A, B)]:
        assert outcome(captured, X, a, b) == outcome(f, X, a, b)
