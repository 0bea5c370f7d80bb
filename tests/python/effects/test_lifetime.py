"""Captures keep nothing of the program's alive. Entries die with what they guard by identity."""

import contextlib
import gc
import subprocess
import sys
import textwrap
import threading
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import minidynamo


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    minidynamo.reset()
    yield
    minidynamo.reset()


def settle() -> None:
    gc.collect()
    gc.collect()


def entries() -> int:
    return int(minidynamo.stats()["entries"])


class Witness:
    """Lives in a namespace, to see when that dies."""


def namespace(source: str) -> tuple[dict[str, Any], weakref.ref[Witness]]:
    names: dict[str, Any] = {"torch": torch, "minidynamo": minidynamo, "__name__": "made_by_exec"}
    exec(textwrap.dedent(source), names)
    names["witness"] = Witness()
    return names, weakref.ref(names["witness"])


NAMESPACES = {
    "plain": "def f(x): return x.sin() + 1",
    "helper": """
        scale = 3
        def helper(x): return x * scale
        def f(x): return helper(x) + helper(x + 1)
    """,
    "break": """
        def f(x):
            x = x + 1
            minidynamo.graph_break()
            return x * 2
    """,
    "loop_with_a_break": """
        def f(x):
            for _ in range(3):
                x = x + 1
                minidynamo.graph_break()
            return x * 2
    """,
    "break_in_a_callee": """
        def inner(x):
            x = x + 1
            minidynamo.graph_break()
            return x * 2
        def f(x): return inner(x) + 1
    """,
    "jump": """
        def f(x):
            if x.sum() > 0:
                return x + 1
            return x - 1
    """,
    "instance": """
        class Point:
            def __init__(self, x): self.x = x
        def f(x): return Point(x + 1).x, Point(x)
    """,
    "class_in_a_tuple": """
        class A: pass
        class B: pass
        KINDS = (A, B)
        def f(x): return x + isinstance(x, KINDS)
    """,
    "class_as_key": """
        class A: pass
        TABLE = {A: 3}
        def f(x): return x + TABLE[A] + len([k for k in TABLE])
    """,
    "closure": """
        def make(n):
            def inner(x): return x * n
            return inner
        f = make(3)
    """,
    "function_result": """
        def f(x):
            y = x + 1
            def later(z): return z + y
            return later
    """,
    "method": """
        class Model:
            def __init__(self): self.w = torch.ones(3)
            def forward(self, x): return x * self.w
        model = Model()
        def f(x): return model.forward(x)
    """,
    "module": """
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = torch.nn.Linear(3, 3)
            def forward(self, x): return self.linear(x).relu()
        net = Net()
        def f(x): return net(x)
    """,
    "generator": """
        def numbers(x):
            for i in range(3): yield x + i
        def f(x): return sum(numbers(x))
    """,
    "kept_generator": """
        def numbers(x):
            for i in range(3): yield x + i
        def f(x):
            g = numbers(x + 1)
            next(g)
            return g
    """,
    "partial": """
        import functools
        def add(a, b): return a + b
        add_two = functools.partial(add, 2)
        def f(x): return add_two(x)
    """,
    "lru_cache": """
        import functools
        @functools.lru_cache
        def size(n): return n + 1
        def f(x): return x + size(3)
    """,
    "global_write": """
        count = 0
        def f(x):
            global count
            count += 1
            return x + count
    """,
    "lambda": "f = lambda x: (x + 1).relu()",
    "default": """
        def helper(x, how=lambda y: y + 1): return how(x)
        def f(x): return helper(x)
    """,
    "decorated": """
        import functools
        def twice(g):
            @functools.wraps(g)
            def wrapper(x): return g(g(x))
            return wrapper
        @twice
        def f(x): return x + 1
    """,
    "uncaptured": """
        def f(x):
            with open('/dev/null') as file:
                return x + len(file.read())
    """,
    "raised": """
        def f(x):
            try:
                raise ValueError(x)
            except ValueError as error:
                return error.args[0] + 1
    """,
    "enum": """
        import enum
        class Mode(enum.Enum):
            ADD = 1
            SUB = 2
        mode = Mode.ADD
        def f(x): return x + 1 if mode is Mode.ADD else x - 1
    """,
    "tensor_in_globals": """
        bias = torch.ones(3)
        def f(x): return x + bias
    """,
}


@pytest.mark.parametrize(
    ("source", "backend"),
    [(name, "eager") for name in NAMESPACES] + [(name, "aot_eager") for name in ("plain", "break", "module")],
)
def test_a_namespace_dies_with_its_last_user(source: str, backend: str) -> None:
    names, witness = namespace(NAMESPACES[source])
    f = minidynamo.optimize(backend)(names["f"])
    x = torch.ones(3)
    for _ in range(3):
        f(x)
    del f, names
    settle()
    assert witness() is None
    assert entries() == 0


def test_a_namespace_without_cycles_dies_by_reference_counts() -> None:
    """A function in its module's names is a cycle; taken out of them it is none, and the capture adds none."""
    names, witness = namespace("def f(x): return x.sin() + 1")
    settle()
    gc.disable()
    try:
        f = minidynamo.optimize("eager")(names.pop("f"))
        f(torch.ones(3)), f(torch.ones(3))
        del f, names
        assert witness() is None
    finally:
        gc.enable()


def test_redefinitions_leave_nothing_behind() -> None:
    """A cell of a notebook run again and again, in the same names."""
    names: dict[str, Any] = {"torch": torch}
    x = torch.ones(3)
    codes = []
    for turn in range(20):
        exec(f"def g(x): return x + {turn}\ndef f(x): return g(x) * 2", names)
        assert torch.equal(minidynamo.optimize("eager")(names["f"])(x), (x + turn) * 2)
        codes.append(weakref.ref(names["f"].__code__))
    settle()
    assert [code() is not None for code in codes] == [False] * 19 + [True]
    assert entries() == 1
    assert not [name for name in names if name not in {"torch", "f", "g", "__builtins__"}]


def test_an_entry_dies_with_a_function_that_it_inlined() -> None:
    def outer(x: torch.Tensor, table: dict[str, Any]) -> torch.Tensor:
        return table["g"](x) + 1  # type: ignore[no-any-return]

    names, _ = namespace("def g(x): return x * 2")
    f = minidynamo.optimize("eager")(outer)
    table = {"g": names["g"]}
    f(torch.ones(2), table)
    assert entries() == 1
    graph = weakref.ref(minidynamo.debug.cache_entries(outer)[0].graph_module)
    table.clear()
    names.clear()
    settle()
    assert entries() == 0
    assert graph() is None


@pytest.mark.slow
def test_an_address_used_again_is_no_hit() -> None:
    def outer(x: torch.Tensor, kind: type) -> torch.Tensor:
        return x + kind.value  # type: ignore[attr-defined, no-any-return]

    f = minidynamo.optimize("eager")(outer)
    for value in range(50):
        kind = type("Kind", (), {"value": value})
        assert float(f(torch.zeros(()), kind)) == value
        del kind
        gc.collect()
    assert entries() <= 1


def guarded_by_identity() -> dict[str, Callable[[], Any]]:
    def a_lambda() -> Any:
        return lambda x: x + 1

    def a_class() -> Any:
        return type("Made", (), {"value": 3})

    def a_module() -> Any:
        module = types.ModuleType("made")
        module.value = 3  # type: ignore[attr-defined]
        return module

    return {"lambda": a_lambda, "class": a_class, "module": a_module, "instance": Witness, "thread": threading.Thread}


@pytest.mark.parametrize("kind", guarded_by_identity())
def test_an_argument_is_not_kept_alive(kind: str) -> None:
    def f(x: torch.Tensor, thing: Any, again: Any) -> torch.Tensor:
        if thing is again:
            x = x + 1
        if isinstance(thing, type | types.ModuleType):
            return x + thing.value  # type: ignore[union-attr, no-any-return]
        return thing(x) if callable(thing) else x  # type: ignore[no-any-return]

    optimized = minidynamo.optimize("eager")(f)
    thing = guarded_by_identity()[kind]()
    alive = weakref.ref(thing)
    optimized(torch.ones(2), thing, thing)
    optimized(torch.ones(2), thing, thing)
    del thing
    settle()
    assert alive() is None


def test_a_bound_method_lets_go_of_its_object() -> None:
    class Model:
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + 1

    model = Model()
    alive = weakref.ref(model)
    f = minidynamo.optimize("eager")(model.forward)
    f(torch.ones(2)), f(torch.ones(2))
    del model, f
    settle()
    assert alive() is None


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("train", [False, True])
def test_a_dropped_model_frees_its_weights(backend: str, train: bool) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 4))
    weights = [weakref.ref(parameter) for parameter in model.parameters()]
    f = minidynamo.compile(model, backend=backend)
    x = torch.ones(2, 4)
    for _ in range(2):
        out = f(x)
        if train:
            out.sum().backward()
    del model, f, out
    settle()
    assert [weight() for weight in weights] == [None] * 4


def test_a_thousand_models_share_what_is_alike() -> None:
    settle()
    for _ in range(100):
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
        minidynamo.compile(model, backend="eager")(torch.ones(2, 4))
    assert entries() <= 2


def test_closures_share_one_entry_and_do_not_outlive_their_use() -> None:
    def make(n: torch.Tensor) -> Callable[[torch.Tensor], torch.Tensor]:
        return lambda x: x * n

    alive = []
    for _ in range(10):
        n = torch.ones(2)
        alive.append(weakref.ref(n))
        minidynamo.optimize("eager")(make(n))(torch.ones(2))
    del n
    settle()
    assert [tensor() for tensor in alive] == [None] * 10
    assert entries() == 1


def test_backends_that_nobody_uses_are_let_go_of() -> None:
    class Backend:
        def __call__(self, graph_module: torch.fx.GraphModule, inputs: list[torch.Tensor]) -> Callable[..., Any]:
            return graph_module.forward

    def f(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    alive = []
    for _ in range(20):
        backend = Backend()
        alive.append(weakref.ref(backend))
        minidynamo.optimize(backend)(f)(torch.ones(2))
        minidynamo.optimize(backend)(f)(torch.ones(2))
    del backend
    settle()
    assert [backend() is not None for backend in alive] == [False] * 16 + [True] * 4
    assert entries() == 4
    assert minidynamo.stats()["graphs"] == 20
    minidynamo.reset()
    settle()
    assert not any(backend() for backend in alive)


def test_nothing_is_written_into_a_modules_names() -> None:
    names, _ = namespace("def f(x):\n    x = x + 1\n    minidynamo.graph_break()\n    return x * 2")
    before = list(names)
    minidynamo.optimize("eager")(names["f"])(torch.ones(2))
    assert list(names) == before


def test_records_are_bounded_and_keep_no_code_alive() -> None:
    for turn in range(1100):
        names, _ = namespace(f"def f(x):\n    yield x + {turn}")
        with contextlib.suppress(minidynamo.Unsupported):
            minidynamo.optimize("eager", fullgraph=True)(names["f"])(torch.ones(2))
    code = weakref.ref(names["f"].__code__)
    del names
    settle()
    assert code() is None
    assert len(minidynamo.debug.uncaptured()) == 1000
    assert sum(minidynamo.stats()["graph_breaks"].values()) == 1100


def test_an_entry_that_dies_while_it_runs_finishes() -> None:
    names, witness = namespace(
        """
        def f(x, drop):
            x = x + 1
            drop()
            x = x + 1
            drop()
            return x * 2
        """
    )
    f = [minidynamo.optimize("eager")(names["f"])]
    f[0](torch.ones(2), lambda: None)

    def drop() -> None:
        names.clear()
        settle()

    assert torch.equal(f.pop()(torch.ones(2), drop), torch.full((2,), 6.0))
    settle()
    assert witness() is None


def test_an_entry_that_dies_in_a_nested_call() -> None:
    class Kind:
        value = 2

    holder: list[Any] = [Kind]

    def f(x: torch.Tensor, kinds: list[Any]) -> torch.Tensor:
        y = x * kinds[0].value
        minidynamo.graph_break()
        kinds.clear()
        return y + 1

    del Kind
    optimized = minidynamo.optimize("eager")(f)
    assert torch.equal(optimized(torch.ones(2), holder), torch.full((2,), 3.0))
    settle()
    assert torch.equal(optimized(torch.ones(2), [type("Kind", (), {"value": 5})]), torch.full((2,), 6.0))


def test_tracebacks_keep_a_residual_frame_and_its_names() -> None:
    names, witness = namespace(
        """
        def f(x):
            x = x + 1
            minidynamo.graph_break()
            raise ValueError('here')
        """
    )
    f = minidynamo.optimize("eager")(names["f"])
    kept = []
    for _ in range(3):
        with contextlib.suppress(ValueError):
            try:
                f(torch.ones(2))
            except ValueError as error:
                kept.append(error)
                raise
    del f, names
    settle()
    for error in kept:
        traceback = error.__traceback__
        while traceback:
            assert "__name__" in traceback.tb_frame.f_globals
            traceback = traceback.tb_next
    kept.clear()
    del error, traceback
    settle()
    assert witness() is None


def test_recursion_through_one_entry() -> None:
    names, _ = namespace(
        """
        class Box:
            def __init__(self, x): self.x = x
        def f(x, n, call):
            y = x + 1
            minidynamo.graph_break()
            if n:
                call(x, n - 1, call)
            return Box(y)
        """
    )
    f = minidynamo.optimize("eager")(names["f"])
    for _ in range(3):
        assert torch.equal(f(torch.ones(2), 3, f).x, torch.full((2,), 2.0))


AT_EXIT = """
import atexit, sys, threading, weakref
import torch, minidynamo

class Loud:
    def __init__(self, name): self.name = name
    def __del__(self): print("del", self.name)
    def __call__(self, x): return x + 1

in_globals = Loud("global")
finalized = Loud("finalized")
weakref.finalize(finalized, print, "finalizer")
atexit.register(print, "atexit")

def make():
    held = Loud("closure")
    def f(x): return held(x) + in_globals(x)
    return f

f = make()
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.loud = Loud("attribute")
        self.linear = torch.nn.Linear(2, 2)
    def forward(self, x): return self.loud(self.linear(x))

net = Net()
if sys.argv[1] == "captured":
    f, net = minidynamo.compile(f, backend="eager"), minidynamo.compile(net, backend="eager")
for _ in range(2):
    f(torch.ones(2)), net(torch.ones(2))
print("end")
"""


def test_finalizers_run_at_exit() -> None:
    def output(how: str) -> list[str]:
        done = subprocess.run([sys.executable, "-c", AT_EXIT, how], capture_output=True, text=True, timeout=300, check=True)
        return done.stdout.splitlines()

    plain, captured = output("plain"), output("captured")
    assert captured[: captured.index("end")] == plain[: plain.index("end")]
    assert sorted(captured) == sorted(plain)


# Members that lead to their class: an entry that gets the class compares them by identity, and cannot hold them weakly.
CLASSES = {
    "plain": "k = 2",
    "special_class_method": "@classmethod\n    def __class_getitem__(cls, k): return (__class__, k)\n    k = 3",
    "special_static_method": "@staticmethod\n    def __new__(cls): return super(made, cls).__new__(cls)\n    k = 3",
    "descriptor_super": "__init_subclass__ = classmethod(lambda cls: None)\n    k = 2",
    "property_of_its_class": "k = property(lambda self: len(__class__.__name__))",
    "static_method_of_its_class": "@staticmethod\n    def named(): return __class__.__name__\n    k = 2",
    "class_method_of_its_class": "@classmethod\n    def named(cls): return __class__.__name__\n    k = 2",
    "super_in_class_method": "def __init_subclass__(cls): super().__init_subclass__()\n    k = 2",
}
USES = {
    "plain": "made.k",
    "descriptor_super": "type('Derived', (made,), {}).k",
    "property_of_its_class": "made().k",
    "static_method_of_its_class": "len(made.named())",
    "class_method_of_its_class": "len(made.named())",
    "super_in_class_method": "type('Derived', (made,), {}).k",
    "special_class_method": "made[4][1] + made().k",
    "special_static_method": "made().k",
}


@pytest.mark.parametrize("kind", CLASSES)
def test_a_class_dies_that_is_made_in_each_call(kind: str) -> None:
    source = f"""
def f(x):
    class made:
        exec("")
        {CLASSES[kind].replace(chr(10), chr(10) + "    ")}
    kept.append(weakref.ref(made))
    return x * {USES[kind]}
"""
    names: dict[str, Any] = {"weakref": weakref, "kept": []}
    exec(source, names)
    captured = minidynamo.compile(names["f"], backend="eager")
    for _ in range(4):
        assert torch.equal(captured(torch.ones(2)), names["f"](torch.ones(2)))
    settle()
    assert len(names["kept"]) == 8 and not any(reference() for reference in names["kept"])


def test_a_class_with_slots_dies_that_is_made_in_each_call() -> None:
    kept = []

    def f(x: torch.Tensor) -> torch.Tensor:
        class Made:
            exec("")
            __slots__ = ("__dict__", "size")

        kept.append(weakref.ref(Made))
        made = Made()
        made.size = 3
        made.__dict__["other"] = 4
        return x * made.size + made.other

    captured = minidynamo.compile(f, backend="eager")
    for _ in range(4):
        assert torch.equal(captured(torch.ones(2)), torch.full((2,), 7.0))
    settle()
    assert len(kept) == 4 and not any(reference() for reference in kept)


def test_another_descriptor_at_the_same_place_is_seen() -> None:
    class Box:
        pass

    def f(x: torch.Tensor) -> torch.Tensor:
        return x * Box.scale() + Box().shift

    captured = minidynamo.compile(f, backend="eager")
    for number in range(6):
        Box.scale = Box.shift = None
        Box.scale = staticmethod(lambda number=number: number)
        Box.shift = property(lambda self, number=number: number)
        assert torch.equal(captured(torch.ones(2)), torch.full((2,), 2.0 * number))


@pytest.mark.parametrize("special", [[()], (1,), (classmethod, len), weakref.ref(torch.nn.Module)], ids=lambda s: type(s).__name__)
def test_a_special_method_that_is_no_function_is_seen_when_it_changes(special: object) -> None:
    class Box:
        number = 2

    Box.__contains__ = special

    def f(x: torch.Tensor, box: Box) -> torch.Tensor:
        return x * box.number + (3 if 1 in box else 0)

    def g(x: torch.Tensor, box: Box) -> torch.Tensor:
        return x * box.number

    captured, box = minidynamo.compile(g, backend="eager"), Box()
    for _ in range(2):
        assert torch.equal(captured(torch.ones(2), box), torch.full((2,), 2.0))
    Box.__contains__ = lambda self, item: True
    assert torch.equal(captured(torch.ones(2), box), torch.full((2,), 2.0))
    assert torch.equal(minidynamo.compile(f, backend="eager")(torch.ones(2), box), torch.full((2,), 5.0))


def test_an_exception_that_is_thrown_keeps_no_frame_alive() -> None:
    """The frame that raises it holds it on the stack alone: a variable would close a circle with the frame in its traceback."""
    ended = []

    def talks() -> Iterator[int]:
        try:
            yield 1
        finally:
            ended.append(1)

    def f(x: torch.Tensor) -> torch.Tensor:
        suspended = talks()
        next(suspended)
        fresh = talks()
        fresh.throw(ValueError(x.shape))
        return x + 1

    for called in (f, minidynamo.compile(f, backend="eager")):
        ended.clear()
        gc.disable()
        try:
            with contextlib.suppress(ValueError):
                called(torch.ones(2))
            assert ended == [1]
        finally:
            gc.enable()
