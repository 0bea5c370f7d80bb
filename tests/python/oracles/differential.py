"""Runs a program eagerly and captured, and tells every observable difference.

A program is a Python file that defines `f` (function, bound method or module) and `inputs()` (fresh positional arguments,
the same at every call). Optional: `keywords()` (fresh keyword arguments), `calls` (a list of functions like `inputs`, one for
each call; two calls with `inputs` otherwise, so that the second is a cache hit). It is loaded anew for every run, so runs
share no state. The header says how many graphs the calls make together:

    # graphs: 1

and may narrow the backends (`# backends: eager`). With one graph the run asks for `fullgraph`, so that a frame that was not
captured says why, unless the header says that there are breaks without graphs behind them (`# whole: no`).

What is compared, as text that a person can read (one line per object, numbered in order of appearance, so that aliasing and
identity show): results, arguments, the program's globals and its classes' attributes, gradients, printed text, warnings,
exceptions with their traceback's lines, the random generators and torch's modes.
"""

import collections
import contextlib
import dataclasses
import enum
import functools
import gc
import importlib.util
import io
import itertools
import pathlib
import random
import re
import signal
import sys
import time
import traceback
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils.hooks import RemovableHandle

from minidynamo import _requirements

RUNNING = sys.version_info.major * 100 + sys.version_info.minor
TORCH = _requirements.minor(torch.__version__)


def _programs() -> list[pathlib.Path]:
    found = sorted((pathlib.Path(__file__).parents[2] / "programs").rglob("*.py"), key=lambda path: path.name)
    # The folder python312 is for what is there from 3.12 on.
    return [path for path in found if int(re.sub(r"\D", "", path.parent.name) or 0) <= RUNNING and not _is_for_another_torch(path)]


def _is_for_another_torch(path: pathlib.Path) -> bool:
    """True if it says "# not_on_torch: 2.15", the torch that runs: one that cannot run the program eagerly."""
    declared = re.search(r"^# not_on_torch: (.*)$", path.read_text(), re.MULTILINE)
    return declared is not None and TORCH in declared[1].split()


PROGRAMS = _programs()
"""In folders by the room of `csrc/` whose work they show, or by the Python that they need; no name comes twice."""
SEED = 20240229

_PLAIN = (
    type(None),
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    range,
    slice,
    type(...),
    type(NotImplemented),
    torch.dtype,
    torch.device,
    torch.layout,
    torch.memory_format,
    torch.Size,
    torch.finfo,
    torch.iinfo,
    enum.Enum,
)


@dataclasses.dataclass(frozen=True)
class Header:
    """The declarations in a program's first lines."""

    graphs: int
    backends: tuple[str, ...] | None
    whole: bool = False  # one graph, without a break: `fullgraph` is asked for

    @classmethod
    def read(cls, path: pathlib.Path) -> "Header":
        declared = dict(re.findall(r"^# (\w+): (.*)$", path.read_text(), re.MULTILINE))
        if "graphs" not in declared:
            raise ValueError(f"{path.name} does not say '# graphs: N'")
        backends = declared.get("backends")
        graphs = int(declared["graphs"])
        # Another CPython compiles some programs otherwise: "# graphs_312: N" holds from 3.12 on.
        later = {int(name[7:]): int(count) for name, count in declared.items() if name.startswith("graphs_")}
        graphs = later.get(max((since for since in later if since <= RUNNING), default=0), graphs)
        whole = graphs == 1 and declared.get("whole") != "no"
        return cls(graphs, None if backends is None else tuple(re.split(r"[,\s]+", backends.strip())), whole)


@dataclasses.dataclass
class Observation:
    """All that a run left to see: lines of text, and the tensors that they number."""

    lines: list[str]
    tensors: list[torch.Tensor]


class Portrait:
    """Describes objects as lines of text. Objects are numbered as they appear; a second appearance in a turn is only its number.

    Args:
        views: tell whether a tensor is a view. AOTAutograd may return a plain tensor for a view of something internal.
    """

    def __init__(self, views: bool) -> None:
        self._views = views
        self.lines: list[str] = []
        self.tensors: list[torch.Tensor] = []
        self.leaves: list[tuple[str, torch.Tensor]] = []
        self._numbers: dict[int, int] = {}
        self._drawn: set[int] = set()  # the numbers of this turn
        self._storages: dict[int, int] = {}
        self._alive: list[Any] = []  # a number belongs to an address, which must not be given out again

    def line(self, text: str) -> None:
        self.lines.append(text)

    def turn(self) -> None:
        """From here on objects are described again, under the numbers that they have: they may have changed."""
        self._drawn.clear()

    def draw(self, path: str, value: Any) -> None:
        if _constant(value):  # CPython may keep one of equal constants, or make a new one
            self.line(f"{path}: {_kind(value)} {value!r}")
            return
        number = self._numbers.setdefault(id(value), len(self._numbers))
        if number in self._drawn:
            self.line(f"{path}: #{number} again")
            return
        self._drawn.add(number)
        self._alive.append(value)
        head = f"{path}: #{number} {_kind(value)}"
        if isinstance(value, torch.Tensor):
            self._draw_tensor(head, path, value)
        elif isinstance(value, types.ModuleType):
            self.line(f"{head} {value.__name__}")
        elif isinstance(value, types.MethodType):
            self.line(f"{head} {value.__qualname__}")
            self.draw(f"{path}.__self__", value.__self__)
        elif isinstance(value, types.FunctionType):
            self._draw_function(head, path, value)
        elif isinstance(value, (type, types.BuiltinFunctionType, types.GenericAlias)) or _torch_internal(value):
            self.line(f"{head} {getattr(value, '__qualname__', type(value).__qualname__)}")
        elif isinstance(value, functools.partial):
            self.line(head)
            self.draw(f"{path}.func", value.func)
            self.draw(f"{path}.args", value.args)
            self.draw(f"{path}.keywords", value.keywords)
        elif isinstance(value, BaseException):
            self.line(head)
            self.draw(f"{path}.args", value.args)
            self._draw_state(path, value)
        elif isinstance(value, torch.Generator):
            self.line(head)
            self.draw(f"{path}.state", value.get_state())
        else:
            self._draw_container(head, path, value)

    def _draw_tensor(self, head: str, path: str, tensor: torch.Tensor) -> None:
        storage = self._storages.setdefault(tensor.untyped_storage()._cdata, len(self._storages))
        self._alive.append(tensor.untyped_storage())
        self.line(
            f"{head} {tensor.dtype} {tuple(tensor.shape)} strides {tensor.stride()} on {tensor.device}, storage {storage}"
            f"+{tensor.storage_offset()}, requires_grad {tensor.requires_grad}, leaf {tensor.is_leaf},"
            f" inference {tensor.is_inference()}" + (f", view {tensor._is_view()}" if self._views else "")
        )
        self.tensors.append(tensor.detach().clone())
        if tensor.requires_grad and tensor.is_leaf:
            self.leaves.append((path, tensor))
        if tensor.is_leaf and tensor.grad is not None:
            self.draw(f"{path}.grad", tensor.grad)
        # AOTAutograd notes on what it returns which sizes were open.
        own = {name: value for name, value in tensor.__dict__.items() if name != "_dynamo_propagated_dynamic_indices"}
        if type(tensor) is not torch.Tensor or own:
            self.draw(f"{path}.__dict__", own)

    def _draw_function(self, head: str, path: str, function: types.FunctionType) -> None:
        self.line(f"{head} {function.__qualname__}")
        self.draw(f"{path}.__defaults__", function.__defaults__)
        self.draw(f"{path}.__kwdefaults__", function.__kwdefaults__)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            try:
                self.draw(f"{path}.<{name}>", cell.cell_contents)
            except ValueError:
                self.line(f"{path}.<{name}>: empty cell")

    def _draw_container(self, head: str, path: str, value: Any) -> None:
        if isinstance(value, (dict, types.MappingProxyType)):
            self.line(f"{head} of {len(value)}")
            for index, (key, item) in enumerate(value.items()):
                if isinstance(key, _PLAIN):
                    self.draw(f"{path}[{key!r}]", item)
                else:
                    self.draw(f"{path}.key{index}", key)
                    self.draw(f"{path}.value{index}", item)
        elif isinstance(value, (list, tuple, collections.deque)):
            self.line(f"{head} of {len(value)}")
            for index, item in enumerate(value):
                self.draw(f"{path}[{index}]", item)
        elif isinstance(value, (set, frozenset)):
            self.line(f"{head} of {len(value)}: {sorted(map(repr, value))}")
            return
        else:
            self.line(head)
        self._draw_state(path, value)

    def _draw_state(self, path: str, value: Any) -> None:
        for name, item in getattr(value, "__dict__", {}).items():
            self.draw(f"{path}.{name}", item)
        for kind in type(value).__mro__:
            slots = kind.__dict__.get("__slots__", ())
            for slot in (slots,) if isinstance(slots, str) else slots:
                if slot not in ("__dict__", "__weakref__") and hasattr(value, slot):
                    self.draw(f"{path}.{slot}", getattr(value, slot))


def _torch_internal(value: Any) -> bool:
    """True for operators, libraries and the like, whose caches are irrelevant to the comparison."""
    return type(value).__module__.startswith("torch.") and not isinstance(value, (torch.nn.Module, tuple))


def _constant(value: Any) -> bool:
    if type(value) is frozenset or type(value) is tuple:
        return all(_constant(item) for item in value)
    return isinstance(value, _PLAIN)


def _kind(value: Any) -> str:
    kind = type(value)
    return kind.__qualname__ if kind.__module__ in ("builtins", "__program__") else f"{kind.__module__}.{kind.__qualname__}"


@contextlib.contextmanager
def _loaded(path: pathlib.Path, code: types.CodeType | None = None) -> Iterator[types.ModuleType]:
    """The program as a new module, with all random generators seeded. Every load has one name, so that texts compare."""
    if code is None and "torch.library" in path.read_text():
        gc.collect()  # an earlier load's library would take the name of the new one's operators with it when it dies
    _seed()
    hook_id = RemovableHandle.next_id  # hooks are numbered over the whole process
    RemovableHandle.next_id = 1_000_000
    spec = importlib.util.spec_from_file_location("__program__", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["__program__"] = module
    try:
        if code is None:
            spec.loader.exec_module(module)
        else:
            exec(code, vars(module))
        yield module
    finally:
        del sys.modules["__program__"]
        RemovableHandle.next_id = hook_id


def _seed() -> None:
    torch.default_generator.manual_seed(SEED)  # torch.manual_seed asks for the other devices' too, and takes a millisecond
    random.seed(SEED)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(SEED)


def _modes() -> str:
    return (
        f"modes: grad {torch.is_grad_enabled()}, inference {torch.is_inference_mode_enabled()}, "
        f"default dtype {torch.get_default_dtype()}, autocast {torch.is_autocast_enabled('cpu')}, "
        f"deterministic {torch.are_deterministic_algorithms_enabled()}"
    )


def _random_states() -> list[str]:
    states = [f"torch's generator: {hash(torch.get_rng_state().numpy().tobytes())}", f"random: {hash(random.getstate())}"]
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        states.append(f"numpy's generator: {hash(numpy.random.get_state()[1].tobytes())}")
    return states


def roughly(frames: str) -> str:
    """A traceback's frames, of which those of an endless recursion are counted roughly."""
    return re.sub(r"(.{1,80}?)\1{99,}( > .*)?", _about_as_often, frames)


def _about_as_often(repeated: re.Match[str]) -> str:
    return f"{repeated[1]} about {50 * round(len(repeated[0]) / len(repeated[1]) / 50)} times"


def _draw_exception(portrait: Portrait, path: str, error: BaseException, file: str) -> None:
    # How far an endless recursion goes, and where it ends, may differ by a frame or two.
    text = re.sub(r"(maximum recursion depth exceeded)[ a-zA-Z]*", r"\1", str(error))
    portrait.line(f"{path}: raises {_kind(error)}: {text}")
    entries = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    # A resume function's frame goes on with the function's that it resumes.
    names = [frame.name for frame in entries]
    frames = [f"{name}:{frame.lineno}" for name, frame in zip(names, entries)]
    if isinstance(error, UnboundLocalError) and frames:
        # CPython 3.11, once it has fused the load with the store before it, names the line of the store.
        frames[-1] = names[-1]
    portrait.line(f"{path}: traceback {roughly(' > '.join(frames))}")
    portrait.draw(f"{path}.args", () if isinstance(error, RecursionError) else error.args)
    portrait.line(f"{path}: notes {getattr(error, '__notes__', [])}, suppressed context {error.__suppress_context__}")
    for name in ("__cause__", "__context__"):
        other = getattr(error, name)
        if other is not None:
            _draw_exception(portrait, f"{path}.{name}", other, file)


@dataclasses.dataclass
class Caller:
    """Calls something, and draws what comes of the call."""

    portrait: Portrait
    file: str
    backward_may_fail: bool = False

    def __call__(self, name: str, target: Any, arguments: Any, keywords: dict[str, Any]) -> None:
        self.portrait.turn()
        try:
            result = target(*arguments, **keywords)
        except Exception as error:
            _draw_exception(self.portrait, f"{name} result", error, self.file)
        else:
            self.portrait.draw(f"{name} result", result)
            try:
                _backward(self.portrait, result)
            except RuntimeError as error:
                if not self.backward_may_fail:
                    raise
                self.portrait.line(f"{name}: the backward pass fails: {error}")
        self.portrait.draw(f"{name} arguments", arguments)
        self.portrait.draw(f"{name} keywords", keywords)

    def make_calls(self, program: types.ModuleType, target: Any) -> None:
        for index, make_inputs in enumerate(getattr(program, "calls", [program.inputs] * 2)):
            arguments = make_inputs()
            self(f"call {index}", target, arguments, program.keywords() if hasattr(program, "keywords") else {})

    def draw_the_rest(self, program: types.ModuleType) -> None:
        """Draws the program's contents, and gradients."""
        self.portrait.turn()
        _draw_program(self.portrait, program)
        for path, leaf in self.portrait.leaves:
            if leaf.grad is not None:
                self.portrait.draw(f"gradient of {path}", leaf.grad)


@contextlib.contextmanager
def observed_output(
    portrait: Portrait, path: pathlib.Path, backward_may_fail: bool = False, code: types.CodeType | None = None
) -> Iterator[tuple[types.ModuleType, Caller]]:
    """Loads the program and yields it with what calls something and draws what comes of the call: (name, target, arguments,
    keywords). At the end all else that can be seen is drawn."""
    printed = io.StringIO()
    call = Caller(portrait, str(path), backward_may_fail)
    with _loaded(path, code) as program, warnings.catch_warnings(record=True) as warned, contextlib.redirect_stdout(printed):
        warnings.simplefilter("always")
        yield program, call
        call.draw_the_rest(program)
    portrait.line(_modes())
    portrait.lines += _random_states()
    portrait.line(f"printed: {printed.getvalue()!r}")
    for warning in warned:
        if warning.filename == str(path):
            portrait.line(f"warning at line {warning.lineno}: {warning.category.__name__}: {warning.message}")


def observe(
    path: pathlib.Path,
    wrap: Callable[[Any], Any],
    *,
    views: bool = True,
    backward_may_fail: bool = False,
    code: types.CodeType | None = None,
) -> Observation:
    """Loads the program, replaces its `f` by `wrap(f)`, makes its calls, and describes all that can be seen of them.

    Args:
        backward_may_fail: an error of the backward pass after a call is described too, instead of raised.
        code: the compiled file, where it need not be compiled for this run alone.
    """
    portrait = Portrait(views)
    with observed_output(portrait, path, backward_may_fail, code) as (program, call):
        target = wrap(program.f)
        _seed()
        call.make_calls(program, target)
    return Observation(portrait.lines, portrait.tensors)


def _draw_program(portrait: Portrait, program: types.ModuleType) -> None:
    for name, value in vars(program).items():
        if name.startswith("__") or isinstance(value, types.ModuleType):
            continue
        if isinstance(value, type) and value.__module__ == "__program__":
            for attribute, item in list(vars(value).items()):
                plain = not callable(item) and not hasattr(type(item), "__get__")
                if plain and not (attribute.startswith(("__", "_abc"))):
                    portrait.draw(f"global {name}.{attribute}", item)
        else:
            portrait.draw(f"global {name}", value)


def _backward(portrait: Portrait, result: Any) -> None:
    """Runs backward from every differentiable tensor in the result, each entry weighted by its place."""
    found: dict[int, torch.Tensor] = {}
    seen: set[int] = set()

    def collect(value: Any) -> None:
        if id(value) in seen:
            return
        seen.add(id(value))
        if isinstance(value, torch.Tensor):
            if value.requires_grad and value.grad_fn is not None:
                found[id(value)] = value
        elif isinstance(value, dict):
            for item in value.values():
                collect(item)
        elif isinstance(value, (list, tuple)):
            for item in value:
                collect(item)
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            for field in dataclasses.fields(value):
                collect(getattr(value, field.name))
        elif type(value).__module__ == "__program__":  # AOTAutograd returns zeros where no gradient is asked for
            collect(vars(value) if hasattr(value, "__dict__") else None)

    collect(result)
    if found and torch.is_grad_enabled():
        terms = []
        for tensor in found.values():
            weights = torch.arange(1, tensor.numel() + 1, dtype=torch.float64).reshape(tensor.shape) / tensor.numel()
            weighted = tensor * weights.to(tensor.dtype)
            terms.append((weighted.real if weighted.is_complex() else weighted).sum().to(torch.float64))
        functools.reduce(torch.add, terms).backward()


class Hang(BaseException):
    """A program ran for too long. No handler in the program catches it."""


@contextlib.contextmanager
def bounded(seconds: int) -> Iterator[None]:
    """Raises Hang in what runs for longer: of CPU time, or ten times as long, where others keep the machine busy."""
    began, began_cpu = time.monotonic(), time.process_time()

    def interrupt(number: int, frame: Any) -> None:
        if time.process_time() - began_cpu >= seconds / 2 or time.monotonic() - began >= 10 * seconds:
            raise Hang(f"no end after {seconds} s")

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1)  # again, should the tracer lose it
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def differences(expected: Observation, actual: Observation, exact: bool) -> list[str]:
    """The differences, as lines for a person: empty where there are none.

    Args:
        exact: tensors must be equal bit for bit; otherwise within torch.testing's tolerances for their dtype.
    """
    if expected.lines != actual.lines:
        pairs = itertools.zip_longest(expected.lines, actual.lines, fillvalue="(nothing)")
        return [f"expected {left}\n     got {right}" for left, right in pairs if left != right][:6]
    numbers = re.compile(r": #\d+ \S*(?:Tensor|Parameter|Buffer)\b")
    paths = [line for line in expected.lines if numbers.search(line) and "strides" in line]
    found = []
    for path, left, right in zip(paths, expected.tensors, actual.tensors):
        if left.dtype is right.dtype and left.stride() == right.stride() and torch.equal(left, right):
            continue
        tolerance: dict[str, float] = {"rtol": 0.0, "atol": 0.0} if exact else {}
        try:
            torch.testing.assert_close(right, left, equal_nan=True, check_stride=True, **tolerance)  # type: ignore[arg-type]
        except AssertionError as error:
            found.append(f"{path.split(': ')[0]}: {error}")
    return found
