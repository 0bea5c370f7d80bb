"""Names of CPython 3.14 besides those of coverage_cases.py and those of 3.12 and 3.13, as tables of the same form."""

NOT_APPLICABLE = {
    "SETUP_ANNOTATIONS": "only where annotations are texts (from __future__ import annotations)",
    "NOT_TAKEN": "does nothing: tools of sys.monitoring are told of it",
}

# Instructions of earlier versions whose cases hold for one of 3.14.
NOW_CALLED = {
    "LOAD_FAST_LOAD_FAST": "LOAD_FAST_BORROW_LOAD_FAST_BORROW",
    "SETUP_ANNOTATIONS": "LOAD_FAST_BORROW",
    "STORE_SLICE": "LOAD_SMALL_INT",
}

OPCODES = """
BUILD_INTERPOLATION  t"{n!r:>3}".interpolations[0].value, t"{n}".interpolations[0].expression
BUILD_TEMPLATE  t"a{n}b{s}c".strings, t"".values
LOAD_COMMON_CONSTANT
    all(value > 0 for value in l), any(value > 2 for value in l), tuple(value * 2 for value in l)
LOAD_FAST_LOAD_FAST
    def swapped(first, second):
        first, second = second, first
        return first, second
    ---
    swapped(n, x)
LOAD_SPECIAL
    class Manager:
        def __enter__(self):
            return 3
        def __exit__(self, *details):
            return True
    ---
    with Manager() as entered:
        entered += 1
    entered
POP_ITER
    total = 0
    for value in l:
        if value > 2:
            break
        total += value
    total
STORE_SLICE
    first, last = 1, 2
    l[first:last] = [7, 8]
    l
"""

EXCEPTIONS = ""

METHODS = {
    "float": "from_number  float.from_number(n), float.from_number(2.5)\n",
    "complex": "from_number  complex.from_number(n), complex.from_number(2.5)\n",
    "bytearray": "resize\n    made = bytearray(b'abc')\n    made.resize(2)\n    made\n",
    "memoryview": "count  memoryview(b'abca').count(97)\nindex  memoryview(b'abca').index(98)\n",
    "type": "__annotate__  int.__dict__.get('__annotate__'), Point.__annotate__\n",
    "classmethod": "__annotate__  classmethod(double).__annotate__\n",
    "staticmethod": "__annotate__  staticmethod(double).__annotate__\n",
    "map": "__setstate__  attempt(map(abs, l).__setstate__, True)\n",
    "types.FunctionType": "__annotate__  fn.__annotate__\n",
    "types.UnionType": """
__mro_entries__  attempt((int | str).__mro_entries__, ())
__name__  (int | str).__name__
__qualname__  (int | str).__qualname__
__origin__  (int | str).__origin__ is type(int | str)
""",
}

LIBRARY = {
    "operator": "is_none  operator.is_none(n), operator.is_none(None)\nis_not_none  operator.is_not_none(n), operator.is_not_none(None)\n",
    "functools": "Placeholder  functools.partial(pow, functools.Placeholder, 2)(n)\n",
    "heapq": """
heappush_max
    made = [5, 3, 1]
    heapq.heappush_max(made, n)
    made
heappop_max
    made = [5, 3, 1]
    heapq.heappop_max(made), made
heapify_max
    made = [1, 5, 3]
    heapq.heapify_max(made)
    made
heapreplace_max
    made = [5, 3, 1]
    heapq.heapreplace_max(made, n), made
heappushpop_max
    made = [5, 3, 1]
    heapq.heappushpop_max(made, n), made
""",
}
