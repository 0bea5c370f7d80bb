"""Names of CPython 3.13 besides those of coverage_cases.py and coverage_cases_312.py, as tables of the same form."""

NOT_APPLICABLE = {
    "EXIT_INIT_CHECK": "never in a code object",
    "ENTER_EXECUTOR": "never in a code object: the compiler for machine code puts it in",
}

# Instructions of earlier versions whose cases hold for one of 3.13.
NOW_CALLED: dict[str, str] = {}

OPCODES = """
TO_BOOL
    1 if l else 2, not l, bool(l) and not d
CALL_KW  dict(a=n, b=2), sorted(l, key=abs, reverse=True)
CONVERT_VALUE  f"{n!r} {s!s:>5} {s!a}"
FORMAT_SIMPLE  f"{n}{s}"
FORMAT_WITH_SPEC  f"{n:>{5}}", f"{x.shape[0]:03d}"
LOAD_FAST_LOAD_FAST
    def add(left, right):
        return left + right
    ---
    add(n, 2), add(x, x)
STORE_FAST_LOAD_FAST  [value * 2 for value in l]
STORE_FAST_STORE_FAST
    def swapped(pair):
        first, second = pair
        return second, first
    ---
    swapped((n, 2)), swapped((x, 2))
SET_FUNCTION_ATTRIBUTE
    def inner(value: int = n, *, by=2) -> int:
        return value * by + n
    inner(), inner.__defaults__, inner.__kwdefaults__, len(inner.__annotations__)
"""

EXCEPTIONS = """
_IncompleteInputError
    try:
        raise _IncompleteInputError("bad")
    except _IncompleteInputError as error:
        found = error
    type(found), found.args, str(found), _IncompleteInputError.__mro__[1].__name__
"""

_OF_COMPILER = """
__firstlineno__  {name}.__firstlineno__ > 0
__static_attributes__  sorted({name}.__static_attributes__)
"""

_CLASSES = [
    *(f"collections.{name}" for name in ("Counter", "ChainMap", "UserDict", "UserList")),
    *(f"torch.nn.{name}" for name in ("Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict")),
]

METHODS = {name: _OF_COMPILER.format(name=name) for name in _CLASSES} | {
    "property": """
__name__
    class Sized:
        @property
        def size(self):
            return 3
    ---
    Sized.size.__name__, attempt(getattr, property(), "__name__")
""",
    "types.MethodType": """
__get__
    class Local:
        def double(self):
            return n * 2
    method = Local().double
    method.__get__(Local())(), method.__get__(n, int) == method
__get__ (of a class method)
    class Local:
        def double(self, owner):
            return n * 2
    class Owner:
        double = classmethod(Local().double)
    Owner.double()
""",
    "types.SimpleNamespace": """
__replace__  types.SimpleNamespace(a=n, b=x).__replace__(a=2)
__replace__ (from outside)  ns.__replace__(a=n)
""",
    "functools.partial": """
__get__  functools.partial(double, n).__get__(None, int)()
__get__ (warns)
    class Local:
        scaled = functools.partial(double, 2)
    ---
    import warnings
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scaled = attempt(lambda: Local().scaled())  # a method from 3.14 on
    scaled, [warning.category for warning in caught]
""",
}

LIBRARY = {
    "copy": """
replace
    import collections
    Pair = collections.namedtuple("Pair", "left right")
    ---
    copy.replace(Pair(n, x), left=3)
""",
    "enum": """
EnumDict
    type(enum.EnumDict()).__name__
""",
    "math": "fma  math.fma(2.0, n, 0.5)",
}
