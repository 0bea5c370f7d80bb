"""A trace changes nothing outside it: whether it succeeds, breaks, or its backend fails, the world is as it was.

For every program of tests/programs, all that it can reach and the state of the process are looked at before a call and

* when the backend gets the first graph: the trace is complete then, and nothing has run yet;
* after the backend has failed on it;
* after a frame was given up that had to be captured whole.

What is run first must be the trace of the program's own function: where another frame was looked at before (that function
was not captured, or its first part needed no graph), parts of the program have really run, and nothing is compared.
"""

import collections
import contextlib
import contextvars
import ctypes
import dataclasses
import functools
import gc
import importlib
import io
import logging
import os
import pathlib
import random
import signal
import sys
import threading
import types
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import differential
import pytest
import torch
import torch._decomp.decompositions_for_jvp  # which torch itself imports where forward-mode AD first asks for one

import minidynamo

PATHS = differential.PROGRAMS

_EMPTY: Any = ([], (), {}, {}.items(), {}.values(), set(), "", range(0), reversed([]), reversed({}))
_ITERATORS: tuple[type, ...] = (*(type(iter(empty)) for empty in _EMPTY), enumerate, zip, map, filter, reversed)


class Snapshot:
    """The state of a set of objects and the process, as one line for each thing that may change.

    Objects are distinguished by address, and kept alive for that.

    Args:
        roots: where to start, by name.
        by_name: look at instances through their `__dict__`. That makes CPython build the dict, which a trace may then see; the
            other way yields the values alone.
    """

    def __init__(self, roots: dict[str, Any], *, by_name: bool) -> None:
        self.lines: dict[str, object] = {}
        self._by_name = by_name
        self._seen: set[int] = set()
        self._alive: list[Any] = []
        with torch._C.DisableTorchFunction():  # a tensor subclass must not notice
            self._pending: list[tuple[str, Any]] = list(roots.items())
            while self._pending:
                self._look_at(*self._pending.pop())
        self.lines |= process_state()

    def differences(self, later: "Snapshot") -> list[str]:
        names = dict.fromkeys([*self.lines, *later.lines])
        different = [name for name in names if self.lines.get(name, "(absent)") != later.lines.get(name, "(absent)")]
        return [f"{name}: {_change(self.lines.get(name, '(absent)'), later.lines.get(name, '(absent)'))}" for name in different[:10]]

    def _look_at(self, path: str, value: Any) -> None:
        if isinstance(value, differential._PLAIN) or id(value) in self._seen:
            return
        self._seen.add(id(value))
        self._alive.append(value)
        kind = type(value)
        if isinstance(value, dict):
            self._named(path, value)
        elif isinstance(value, (list, tuple, collections.deque, set, frozenset)):
            self._contents(path, list(value))
        elif isinstance(value, torch.Tensor):
            self._tensor(path, value)
        elif isinstance(value, types.FunctionType):
            self._function(path, value)
        elif isinstance(value, (types.ModuleType, types.BuiltinFunctionType, types.CodeType)):
            return
        elif isinstance(value, type):
            self._class(path, value)
            return
        elif isinstance(value, types.MethodType):
            self._contents(path, [value.__func__, value.__self__])
        elif isinstance(value, (property, staticmethod, classmethod)):
            self._contents(path, [getattr(value, name, None) for name in ("fget", "fset", "fdel", "__func__")])
        elif isinstance(value, functools.partial):
            self._contents(path, [value.func, value.args, value.keywords])
        elif isinstance(value, types.GeneratorType):
            frame = value.gi_frame
            self.lines[f"{path} at"] = None if frame is None else frame.f_lasti
            self._contents(path, [] if frame is None else list(frame.f_locals.values()))
        elif kind.__module__ == "itertools" and sys.version_info >= (3, 14):
            return  # where it stands cannot be asked any more
        elif isinstance(value, _ITERATORS) or kind.__module__ == "itertools":
            self._contents(path, list(_flat(value.__reduce__())))
        elif isinstance(value, contextvars.ContextVar):
            self._contents(path, [value.get(None)])
        elif isinstance(value, weakref.ref):
            self._contents(path, [value()])
        elif isinstance(value, BaseException):
            self._contents(path, [value.args, value.__cause__, value.__context__, value.__traceback__])
        elif isinstance(value, torch.Generator):
            self.lines[f"{path} state"] = value.get_state().numpy().tobytes()
        elif isinstance(value, random.Random):
            self.lines[f"{path} state"] = value.getstate()
        elif isinstance(value, (io.StringIO, io.BytesIO)):
            self.lines[f"{path} text"] = None if value.closed else (value.getvalue(), value.tell())
        elif isinstance(value, (bytearray, memoryview)):
            self.lines[f"{path} bytes"] = bytes(value)
        elif hasattr(value, "cache_info"):
            self.lines[f"{path} cache"] = tuple(value.cache_info())
            self._contents(path, [value.__wrapped__])
        elif differential._torch_internal(value):
            return
        self._state(path, value)

    def _contents(self, path: str, items: list[Any]) -> None:
        self.lines[f"{path} holds"] = [identity(item) for item in items]
        self._alive.extend(items)
        self._pending += [(f"{path}[{index}]", item) for index, item in enumerate(items)]

    def _named(self, path: str, items: dict[Any, Any]) -> None:
        """Contents by key, in their order. Keys that are not plain are looked at, too."""
        self.lines[f"{path} keys"] = [key if _by_value(key) else id(key) for key in items]
        self._alive.extend(items)
        for index, (key, item) in enumerate(items.items()):
            place = f"{path}[{key!r}]" if _by_value(key) else f"{path}[{index}]"
            self.lines[place] = identity(item)
            self._alive.append(item)
            self._pending += [(f"{path}.key{index}", key), (place, item)]

    def _function(self, path: str, function: types.FunctionType) -> None:
        self._contents(path, [function.__code__, function.__defaults__, function.__kwdefaults__])
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            if name == "__classdict__":  # the class that the function belongs to
                continue
            with contextlib.suppress(ValueError):
                self._contents(f"{path}.<{name}>", [cell.cell_contents])
        if function.__globals__.get("__name__") == "__program__":
            self._pending.append((f"{path}.__globals__", function.__globals__))

    def _class(self, path: str, kind: type) -> None:
        if kind.__module__ == "__program__":
            hidden = ("__dict__", "__weakref__", "_abc_impl")  # the last is isinstance's cache
            self._named(f"{path}.__dict__", {name: item for name, item in vars(kind).items() if name not in hidden})
            self._contents(f"{path} subclasses", type.__subclasses__(kind))

    def _state(self, path: str, value: Any) -> None:
        """An instance's attributes and slots."""
        memo: set[int] = set()
        if isinstance(value, logging.Logger):  # keeps whether a level is enabled, which a trace may ask
            memo.add(id(value._cache))  # type: ignore[attr-defined]
            self._seen |= memo
        if self._by_name or isinstance(value, types.FunctionType):
            attributes = getattr(value, "__dict__", None)
            if isinstance(attributes, dict):
                # By content: CPython may make the dict anew.
                self._named(f"{path}.__dict__", attributes)
        elif type(value).__flags__ & 1 << 9 and not isinstance(value, (dict, torch.Tensor)):  # an instance of a Python class
            self._contents(f"{path} referents", list(_values(value, memo)))
        for kind in type(value).__mro__:
            for name, slot in vars(kind).items():
                if isinstance(slot, types.MemberDescriptorType) and kind.__flags__ & 1 << 9:
                    with contextlib.suppress(AttributeError):
                        self._contents(f"{path}.{name}", [slot.__get__(value)])

    def _tensor(self, path: str, tensor: torch.Tensor) -> None:
        self.lines[f"{path} tensor"] = (
            *(tensor.dtype, tensor.device, tuple(tensor.shape), tensor.stride(), tensor.storage_offset(), tensor.requires_grad),
            *(tensor.is_leaf, type(tensor.grad_fn).__name__, id(tensor.grad_fn), tensor._is_view(), tensor.retains_grad),
        )
        self._alive.append(tensor.grad_fn)
        if not tensor.is_inference():
            self.lines[f"{path} version"] = tensor._version
        storage = tensor.untyped_storage()
        if storage.device.type == "cpu" and storage.data_ptr():
            self.lines[f"{path} data"] = (storage.data_ptr(), ctypes.string_at(storage.data_ptr(), storage.nbytes()))
        hooks = tensor._backward_hooks
        self._contents(f"{path} hooks", [] if hooks is None else list(hooks.values()))
        if tensor.is_leaf:
            self._contents(f"{path}.grad", [tensor.grad])
        if tensor._is_view() and tensor._base is not None:
            self._contents(f"{path}._base", [tensor._base])
        self._named(f"{path}.__dict__", tensor.__dict__)


def _by_value(item: Any) -> bool:
    return isinstance(item, differential._PLAIN)


def identity(item: Any) -> object:
    """The identity of an object: CPython may make one of equal constants anew."""
    return item if _by_value(item) else (type(item).__name__, id(item))


def _flat(value: Any) -> Iterator[Any]:
    """An iterator's position and what it goes over, from its `__reduce__`, whose tuples are new at each call."""
    # A list with so few references was made for the answer: what is left of a dict or set.
    if isinstance(value, tuple) or (isinstance(value, list) and sys.getrefcount(value) <= 4):
        for item in value:
            yield from _flat(item)
    else:
        yield value


def _values(value: Any, seen: set[int]) -> Iterator[Any]:
    """The objects that an instance refers to; its dict, which may or may not be there, by what it holds."""
    for item in gc.get_referents(value):
        if isinstance(item, dict):
            if id(item) not in seen:
                seen.add(id(item))
                yield from _values(item, seen)
        elif not isinstance(item, str):
            yield item


def _change(before: object, now: object) -> str:
    """In words; of two long lists or dicts, what only one of them has."""
    if type(before) is type(now) and isinstance(before, (list, dict)) and len(before) > 10:
        own = [list(value.items()) if isinstance(value, dict) else value for value in (before, now)]
        before, now = ([item for item in one if item not in other] for one, other in (own, own[::-1]))
    return f"before {before!r:.300}, now {now!r:.300}"


def process_state() -> dict[str, object]:
    """The random generators, torch's modes, and what else a trace could leave in another state."""
    context = contextvars.copy_context()
    registries = {
        name: [str(key) for key in registry]
        for name, module in list(sys.modules.items())
        if isinstance(registry := vars(module).get("__warningregistry__"), dict)
    }
    state: dict[str, object] = {f"random generator {index}": text for index, text in enumerate(differential._random_states())}
    return state | {
        "torch modes": differential._modes(),
        "default device": str(torch.get_default_device()),
        "autocast": (torch.get_autocast_dtype("cpu"), torch.is_autocast_cache_enabled(), torch.is_autocast_enabled("cuda")),
        "deterministic": torch.is_deterministic_algorithms_warn_only_enabled(),
        "torch function modes": torch._C._len_torch_function_stack(),
        "torch dispatch modes": torch._C._len_torch_dispatch_stack(),
        "anomaly": (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()),
        "threads of torch": torch.get_num_threads(),
        "warning filters": [str(entry) for entry in warnings.filters],
        "warning registries": registries,
        "showwarning": id(warnings.showwarning),
        "modules": sorted(name for name in sys.modules if not name.startswith("minidynamo.")),  # ours come when first needed
        "context variables": [(variable.name, id(value)) for variable, value in context.items()],
        "stdout": sys.stdout.getvalue() if isinstance(sys.stdout, io.StringIO) else None,
        "stderr": sys.stderr.getvalue() if isinstance(sys.stderr, io.StringIO) else None,
        "streams": (id(sys.stdout), id(sys.stderr), id(sys.stdin), id(sys.displayhook), id(sys.excepthook)),
        "exception": sys.exc_info()[1],
        # CPython 3.12's collector itself freezes what is immortal: some 400 objects. gc.freeze() freezes all that there are.
        "garbage collector": (gc.isenabled(), gc.get_threshold(), gc.callbacks[:], gc.get_freeze_count() > 10_000),
        "recursion limit": sys.getrecursionlimit(),
        "switch interval": sys.getswitchinterval(),
        "tracing": (sys.gettrace(), sys.getprofile()),
        "generator hooks": tuple(sys.get_asyncgen_hooks()),
        "path": sys.path[:],
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "threads": threading.active_count(),
        "signals": (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGALRM)),
    }


def frame_evaluator() -> int:
    """The address of the function that runs Python frames in this interpreter: a trace's hook must be gone after it."""
    get_interpreter = ctypes.pythonapi.PyInterpreterState_Get
    get_interpreter.restype = ctypes.c_void_p
    get_evaluator = ctypes.pythonapi._PyInterpreterState_GetEvalFrameFunc
    get_evaluator.restype, get_evaluator.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    return int(get_evaluator(get_interpreter()))


class BackendBroken(Exception):
    """The exception of the failing backend."""


@dataclasses.dataclass
class Watch:
    """Runs each call of a program with an empty cache, with snapshots around its first trace.

    Attributes:
        fails: the backend raises.
        fullgraph: a frame that cannot be captured whole is an error.
        compared: how many pairs of snapshots there were.
    """

    path: pathlib.Path
    fails: bool = False
    fullgraph: bool = False
    by_name: bool = True
    compared: int = 0
    different: list[str] = dataclasses.field(default_factory=list)

    def run(self) -> None:
        with differential._loaded(self.path) as program, warnings.catch_warnings():
            warnings.simplefilter("always")
            target = minidynamo.compile(program.f, backend=self.backend, fullgraph=self.fullgraph)
            for make_inputs in getattr(program, "calls", [program.inputs]):
                self.call(program, target, make_inputs)

    def call(self, program: types.ModuleType, target: Any, make_inputs: Callable[[], tuple[Any, ...]]) -> None:
        arguments = make_inputs()
        keywords = program.keywords() if hasattr(program, "keywords") else {}
        minidynamo.reset()
        self.roots = {"globals": vars(program), "arguments": arguments, "keywords": keywords}
        self.first = True
        evaluator = frame_evaluator()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            self.before = self.snapshot()
            given_up = False
            try:
                target(*arguments, **keywords)
            except minidynamo.BackendCompilerFailed:
                given_up = self.fails and not self.first and minidynamo.stats()["frames"] == 1
            except minidynamo.Unsupported:
                given_up = self.fullgraph
            except Exception:
                pass  # the program's own
            if given_up:
                self.compare()
        if frame_evaluator() != evaluator:
            self.different.append("the frame hook is still installed")

    def backend(self, graph_module: torch.fx.GraphModule, example_inputs: list[torch.Tensor]) -> Any:
        first, self.first = self.first, False
        if self.fails:
            raise BackendBroken
        if first and not self.fullgraph and minidynamo.stats()["frames"] == 1:
            self.compare()
        return graph_module.forward

    def snapshot(self) -> Snapshot:
        return Snapshot(self.roots, by_name=self.by_name)

    def compare(self) -> None:
        self.compared += 1
        self.different += self.before.differences(self.snapshot())


@pytest.fixture(scope="module", autouse=True)
def everything_is_loaded() -> None:
    """A first capture's imports are no program's doing: torch's kernels for fakes load parts of torch at their first call, and
    minidynamo the parts of its own that are written in Python."""
    ours = "_capture.failed_graph _capture.graph_source _runtime.autograd_function _runtime.checkpoint _runtime.tensor_hooks"
    for name in ours.split():
        importlib.import_module(f"minidynamo.{name}")
    for name in ("torch.fx.experimental.symbolic_shapes", "torch._numpy", "torch._dynamo"):
        importlib.import_module(name)
    with contextlib.suppress(ImportError):  # torch 2.13 has it
        importlib.import_module("torch.profiler._cupti_monitor")

    def failing(*_: Any) -> Any:
        raise BackendBroken

    function = minidynamo.compile(lambda x: x.sin(), backend=failing)
    with pytest.raises(minidynamo.BackendCompilerFailed):
        function(torch.ones(2))
    with pytest.raises(minidynamo.Unsupported):
        minidynamo.compile(lambda x: x.item(), backend="eager", fullgraph=True)(torch.ones(2))


programs = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)


@programs
def test_until_the_backend_is_called(path: pathlib.Path) -> None:
    watch = Watch(path)
    watch.run()
    assert not watch.different, "\n".join(watch.different)
    if differential.Header.read(path).graphs:
        # With a break the first part of the program may have needed no graph.
        assert watch.compared or minidynamo.stats()["graph_breaks"], "no trace was looked at"


@programs
def test_after_the_backend_has_failed(path: pathlib.Path) -> None:
    watch = Watch(path, fails=True, by_name=False)
    watch.run()
    assert not watch.different, "\n".join(watch.different)


@programs
def test_after_a_frame_was_given_up(path: pathlib.Path) -> None:
    watch = Watch(path, fullgraph=True, by_name=False)
    watch.run()
    assert not watch.different, "\n".join(watch.different)


PROGRAM = """
import contextvars, random, torch
items, table, box, variable = [3, 1, 2], {"a": 1, "b": 2}, type("Box", (), {"count": 1})(), contextvars.ContextVar("variable")
iterator, generator, weight = iter(items), (item for item in items), torch.ones(2)
key_iterator, enumerated, generator_of_numbers = iter(table), enumerate(items), torch.Generator()


class Kind:
    total = 0


def closure(start):
    def add(amount):
        nonlocal start
        start += amount

    return add


add = closure(1)


def f(x):
    return x + 1


def inputs():
    return (torch.ones(2),)
"""

# Each leaves something as a trace must not. What they change in the process is put back by `undone`.
CHANGES = {
    "list item": "items.append(4)",
    "order of a list": "items.sort()",
    "order of a dict": "table['a'] = table.pop('a')",
    "equal, but another object": "box.pair = (1, 2)",
    "attribute": "box.count = 2",
    "class attribute": "Kind.total = 1",
    "global": "globals().update(more=1)",
    "cell": "add(1)",
    "default": "f.__defaults__ = (1,)",
    "attribute of a function": "f.note = 1",
    "position of an iterator": "next(iterator)",
    "position of an iterator of keys": "next(key_iterator)",
    "position of a generator": "next(generator)",
    "position of an enumeration": "next(enumerated)",
    "value of a tensor": "weight.data[0] = 2",
    "version of a tensor": "weight.add_(0)",
    "gradient": "weight.grad = torch.ones(2)",
    "requires_grad": "weight.requires_grad_()",
    "attribute of a tensor": "weight.note = 1",
    "a generator of torch": "torch.rand(1, generator=generator_of_numbers)",
    "torch's generator": "torch.rand(1)",
    "random": "random.random()",
    "grad mode": "torch.set_grad_enabled(False)",
    "default dtype": "torch.set_default_dtype(torch.float64)",
    "printed text": "print('seen')",
    "warning": "import warnings; warnings.warn('seen')",
    "warning filters": "import warnings; warnings.simplefilter('ignore')",
    "context variable": "variable.set(1)",
    "module": "import sys; sys.modules['never_imported'] = sys",
    "garbage collector": "import gc; gc.disable()",
    "recursion limit": "import sys; sys.setrecursionlimit(sys.getrecursionlimit() + 1)",
    "environment": "import os; os.environ['NEVER_SET'] = '1'",
}


@pytest.fixture
def undone() -> Iterator[None]:
    limit = sys.getrecursionlimit()
    with warnings.catch_warnings():
        yield
    torch.set_grad_enabled(True)
    torch.set_default_dtype(torch.float32)
    sys.modules.pop("never_imported", None)
    gc.enable()
    sys.setrecursionlimit(limit)
    os.environ.pop("NEVER_SET", None)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("by_name", [False, True])
@pytest.mark.usefixtures("undone")
def test_a_change_is_seen(tmp_path: pathlib.Path, change: str, by_name: bool) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    watch = Watch(path, by_name=by_name)
    backend = watch.backend

    def changing(graph_module: torch.fx.GraphModule, example_inputs: list[torch.Tensor]) -> Any:
        exec(CHANGES[change], vars(sys.modules["__program__"]))
        return backend(graph_module, example_inputs)

    watch.backend = changing  # type: ignore[method-assign]
    watch.run()
    assert watch.compared and watch.different


# Other threads


class Shared:
    """The state that all threads see. Each attribute and list has one thread that writes it."""

    def __init__(self) -> None:
        self.items = [1.0, 1.0, 1.0]
        self.scale = 1
        self.tokens: list[object] = []
        self.numbers: dict[str, int] = {"first": 0}
        self.written = 0
        self.result: torch.Tensor | None = None


@minidynamo.disable
def apart(value: int) -> int:
    return value


def step(x: torch.Tensor, shared: Shared) -> torch.Tensor:
    y: torch.Tensor = (x * shared.scale).sin() + sum(shared.items)
    for _ in shared.tokens[:3]:
        y = y * 1
    return y + (shared.numbers["first"] + len(shared.items) * 100)


def step_with_effect(x: torch.Tensor, shared: Shared) -> torch.Tensor:
    y = step(x, shared)
    shared.result = y
    return y + 0


def step_with_break(x: torch.Tensor, shared: Shared) -> torch.Tensor:
    y: torch.Tensor = (x * shared.scale).sin() + sum(shared.items)
    y = y + apart(len(shared.items) * 100)
    return y


X = torch.tensor([0.5, -1.0])
# A call may see each thing in another state, as it may when it is run uncaptured written.
VALID = [(X * scale).sin() + total + length * 100 for scale in (1, 2, 3) for total in range(3, 7) for length in range(3, 7)]


def is_valid(result: torch.Tensor) -> bool:
    return type(result) is torch.Tensor and any(torch.equal(result, valid) for valid in VALID)


@dataclasses.dataclass
class Foreign:
    """Threads that use what a trace reads.

    Attributes:
        problems: what they found to be wrong.
        turns: how often each went round.
    """

    shared: Shared
    function: Callable[..., torch.Tensor]
    stop: bool = False
    problems: list[str] = dataclasses.field(default_factory=list)
    turns: dict[str, int] = dataclasses.field(default_factory=dict)
    tokens: list[object] = dataclasses.field(default_factory=list)

    def lists(self) -> None:
        self.shared.items.append(1.0)
        self.shared.items.pop()
        if len(self.tokens) < 2000:
            self.tokens.append(object())
            self.shared.tokens.append(self.tokens[-1])

    def attributes(self) -> None:
        self.shared.scale = self.shared.scale % 3 + 1
        self.shared.written += 1
        self.shared.numbers[f"key {self.shared.written % 50}"] = self.shared.written

    def tensors(self) -> None:
        own = Shared()
        for value, expected in ((self.function(X, own), VALID[0]), (X.cos().add_(1).t(), X.cos() + 1)):
            if not torch.equal(value, expected):
                self.problems.append(f"{value} is not {expected}")
        if not is_valid(step(X, self.shared)):
            self.problems.append("a call that is not captured returns something else")

    def repeat(self, turn: Callable[[], None]) -> None:
        name = turn.__name__
        try:
            while not self.stop:
                turn()
                self.turns[name] = self.turns.get(name, 0) + 1
        except BaseException as error:
            self.problems.append(f"{name}: {type(error).__name__}: {error}")

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        threads = [threading.Thread(target=self.repeat, args=[turn]) for turn in (self.lists, self.attributes, self.tensors)]
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-5)
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self.stop = True
            for thread in threads:
                thread.join()
            sys.setswitchinterval(interval)


@pytest.mark.parametrize("function", [step, step_with_effect, step_with_break])
def test_while_other_threads_run(function: Callable[..., torch.Tensor]) -> None:
    shared = Shared()
    foreign = Foreign(shared, function)
    captured = minidynamo.compile(function, backend="eager")
    results = []
    captures = 0
    with foreign.running():
        for _ in range(50):
            minidynamo.reset()
            results.append(captured(X, shared))
            captures += minidynamo.stats()["captured"] > 0
    assert captures, "no capture succeeded"
    assert not foreign.problems
    assert set(foreign.turns) == {"lists", "attributes", "tensors"}, foreign.turns
    assert [index for index, result in enumerate(results) if not is_valid(result)] == []
    assert shared.items == [1.0, 1.0, 1.0]
    assert [id(token) for token in shared.tokens] == [id(token) for token in foreign.tokens]
    assert shared.written == foreign.turns["attributes"]
    assert set(shared.numbers.values()) - {0} == set(range(max(1, shared.written - 49), shared.written + 1))
