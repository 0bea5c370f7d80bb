"""Names of CPython 3.12 besides those of coverage_cases.py, as tables of the same form."""

import string

NOT_APPLICABLE = {
    "INTERPRETER_EXIT": "never in a code object",
    "RESERVED": "never in a code object",
}

# Instructions of 3.11 whose cases hold for one of 3.12.
NOW_CALLED = {
    "UNARY_POSITIVE": "CALL_INTRINSIC_1",
    "PREP_RERAISE_STAR": "CALL_INTRINSIC_2",
    "POP_JUMP_FORWARD_IF_FALSE": "POP_JUMP_IF_FALSE",
    "POP_JUMP_FORWARD_IF_TRUE": "POP_JUMP_IF_TRUE",
    "POP_JUMP_FORWARD_IF_NONE": "POP_JUMP_IF_NONE",
    "POP_JUMP_FORWARD_IF_NOT_NONE": "POP_JUMP_IF_NOT_NONE",
}

OPCODES = """
END_FOR
    total = 0
    for value in l:
        total += value
    total
END_SEND
    def inner(value):
        yield value
        return 3
    def outer(value):
        got = yield from inner(value)
        yield got
    ---
    list(outer(n))
CLEANUP_THROW
    def inner(value):
        try:
            yield value
        except ValueError:
            return 4
    def outer(value):
        got = yield from inner(value)
        yield got
    ---
    walk = outer(n)
    next(walk), walk.throw(ValueError("stop"))
BINARY_SLICE  l[1:], s[:n], p[0:2], x[1:]
STORE_SLICE
    l[1:2] = [7, 8]
    made = x.clone()
    made[1:] = 0
    l, made
LOAD_LOCALS
    class Local:
        size = n
    Local.size
LOAD_FROM_DICT_OR_DEREF
    class Local:
        double = n * 2
        size = n + double
    Local.size
LOAD_FROM_DICT_OR_GLOBALS
    class Local:
        base = int
        def go[T](self, value: base) -> T:
            return value
    Local().go(n)
RETURN_CONST
    def answer():
        return 42
    ---
    answer() + n
LOAD_FAST_CHECK
    if flag:
        value = n
    value
LOAD_FAST_CHECK (unbound)
    def unbound(asked):
        if asked:
            value = 1
        return value
    ---
    attempt(unbound, False)
LOAD_SUPER_ATTR
    class Base:
        size = 2
        def go(self, value):
            return value + self.size
    class Derived(Base):
        def go(self, value):
            return super().go(value) * super().size
    ---
    Derived().go(n)
LOAD_FAST_AND_CLEAR  [value for value in l], {key: value for key, value in d.items()}
"""

EXCEPTIONS = ""

_BUFFER = string.Template("""
__buffer__  bytes($value.__buffer__(0))
__release_buffer__
    view = $value.__buffer__(0)
    $value.__release_buffer__(view)
    attempt(bytes, view)
""")

METHODS = {
    "int": "is_integer  n.is_integer(), flag.is_integer()",
    "bytes": "__buffer__  bytes(b.__buffer__(0)), len(b2.__buffer__(0))",
    "bytearray": _BUFFER.substitute(value="ba"),
    "memoryview": _BUFFER.substitute(value="mv"),
    "type": """
__type_params__
    class Noted[T]:
        pass
    ---
    Noted.__type_params__[0].__name__, Point.__type_params__
""",
    "types.FunctionType": """
__type_params__
    def noted[T](value: T) -> T:
        return value
    ---
    noted.__type_params__[0].__name__, fn.__type_params__
""",
    "collections.UserDict": 'get  ud.get("a"), ud.get("z"), ud.get("z", n)',
}

LIBRARY = {
    "itertools": """
batched  list(itertools.batched(l, 2)), [sum(batch) for batch in itertools.batched(lx, 2)], attempt(itertools.batched, l, 0)
""",
    "math": "sumprod  math.sumprod(l, l), math.sumprod([0.5, 1.5], [2, n]), attempt(math.sumprod, l, l2)",
}
