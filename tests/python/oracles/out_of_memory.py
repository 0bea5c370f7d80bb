"""Programs whose calls are repeated with one allocation after the other failing, in forks of one process.

An experiment is a step of a case (a first call, a cached call, ...) in which the k-th allocation fails, or 100,000 from the k-th on:
not all, since CPython 3.11 tries for ever to push the number of an instruction for the handler that it enters. Then
either the step is right, or it raises MemoryError and has done no more than eager would have done by then; and afterwards, with
memory, the same function is right on new objects, and is captured. A child of a fork makes a row of experiments, each with functions
and objects of its own, and writes down what differs. A child that dies has crashed.

Python's allocators fail by `_testcapi.set_nomemory`; `operator new` by `failing_new.cpp`, where that library is preloaded.

    python tests/python/oracles/out_of_memory.py [--native] [--cold] [--case NAME] [--step N] [--stride N] [--only K] [--all-from-there]
"""

import _testcapi
import argparse
import ctypes
import dataclasses
import gc
import json
import os
import pathlib
import signal
import sys
import time
import types
from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.fx.graph_module

import minidynamo
from minidynamo import _C

sys.path.append(str(pathlib.Path(__file__).parent))
import kept_code

MANY = 100_000  # allocations: more than any step makes
State = dict[str, str]
Function = Callable[..., Any]
Made = tuple[Function, list[tuple[Any, ...]]]


def text(value: object) -> str:
    """A description without addresses."""
    if isinstance(value, torch.Tensor):
        return f"tensor({value.tolist()})"
    if isinstance(value, (list, tuple, set, frozenset)):
        parts = [text(item) for item in value]
        return f"{type(value).__name__}({', '.join(sorted(parts) if isinstance(value, (set, frozenset)) else parts)})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{text(key)}: {text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (int, float, str, bool, type(None))):
        return repr(value)
    if isinstance(value, (type, types.FunctionType)):
        return value.__name__
    return f"{type(value).__name__}({text(vars(value))})" if hasattr(value, "__dict__") else type(value).__name__


def fresh(function: Any) -> Any:
    """A function with the same code and no code object in common."""
    code = function.__code__
    nested = tuple(
        fresh(types.FunctionType(c, {}, closure=tuple(types.CellType() for _ in c.co_freevars))).__code__
        if isinstance(c, types.CodeType)
        else c
        for c in code.co_consts
    )
    copy = types.FunctionType(
        code.replace(co_consts=nested), function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    kept_code.keep(copy.__code__)
    return copy


# --------------------------------------------------------------------------------------------------------- programs


class Thing:
    count = 0

    def __init__(self) -> None:
        self.seen: list[Any] = []


def containers() -> Made:
    def program(x: Any, log: Any, table: Any, names: Any) -> Any:
        log.append("begin")
        for i in range(3):
            x = x * 2 + i
            table[f"step {i}"] = i
        names.add("new")
        names.discard("old")
        log.extend([table["step 1"], len(names)])
        del table["gone"]
        log.append(x)
        return x, {"table": table, "sum": [x.sum(), (1, "a")]}

    return program, [(torch.ones(2), [], {"gone": 1}, {"old", "kept"}) for _ in range(2)]


def attributes() -> Made:
    def program(x: Any, thing: Any) -> Any:
        thing.count += 1
        thing.last = x + thing.count
        thing.seen.append(thing.last)
        thing.name = "n" * thing.count
        other = type(thing)()
        other.seen.append(thing.last * 2)
        return other, getattr(thing, "missing", None), x.relu()

    return program, [(torch.ones(2), Thing()) for _ in range(2)]


def classes() -> Made:
    def program(x: Any, log: Any) -> Any:
        class Pair:
            def __init__(self, a: Any, b: Any) -> None:
                self.a, self.b = a, b

            def __add__(self, other: Any) -> Any:
                return Pair(self.a + other.a, self.b + other.b)

            @property
            def both(self) -> Any:
                return self.a * self.b

        total = Pair(x, x + 1) + Pair(x, x)
        log.append(1)
        try:
            [][0]
        except IndexError as error:
            log.append(str(error))
        return total.both

    return program, [(torch.ones(2), []) for _ in range(2)]


def closures() -> Made:
    def program(x: Any, log: Any, *rest: Any, scale: Any = 2) -> Any:
        count = 0

        def step(y: Any, times: int = 1) -> Any:
            nonlocal count
            count += times
            return y * scale + count

        functions = [lambda y, n=n: step(y, n) for n in range(3)]
        for function in functions:
            x = function(x)
        log.append(count)
        order = sorted([3, 1, 2], key=lambda v: -v)
        return x, step, order, list(map(abs, order)), max(order, key=lambda v: v % 3), rest

    return program, [(torch.ones(2), [], 5, "rest") for _ in range(2)]


def generators() -> Made:
    def program(x: Any, log: Any) -> Any:
        def pieces(y: Any) -> Any:
            try:
                for i in range(3):
                    log.append(i)
                    sent = yield y * i
                    y = y * 2 if sent is None else y + sent
            finally:
                log.append("closed")

        walk = pieces(x)
        first = next(walk)
        second = walk.send(first + 1)
        walk.close()
        squares = {i: i * i for i in range(3)}
        return first + second, list(pieces(x))[-1], squares, sum(v for v in squares.values())

    return program, [(torch.ones(2), []) for _ in range(2)]


def breaks() -> Made:
    def inner(x: Any, log: Any) -> Any:
        log.append("inner")
        y = x * 2
        if y.sum() > 100:
            log.append("large")
            return y
        log.append("small")
        return y + 1

    def program(x: Any, log: Any, thing: Any) -> Any:
        thing.count += 1
        state = {"x": x, "list": [x, 2]}
        for i in range(2):
            with torch.no_grad():
                state["x"] = inner(state["x"], log) + i
            log.append(i)
        value = state["x"].sum().item()
        thing.seen.append(value)
        log.append("end")
        return state, value

    return program, [(torch.ones(2), [], Thing()) for _ in range(2)]


def recompiles() -> Made:
    def program(x: Any, log: Any, mode: Any) -> Any:
        log.append(mode)
        if mode == "sin":
            return x.sin()
        if isinstance(mode, int):
            return x * mode
        return [x, mode]

    return program, [(torch.ones(2), [], mode) for mode in ("sin", 2, "cos", 3, "sin")]


def exceptions() -> Made:
    def program(x: Any, log: Any) -> Any:
        try:
            try:
                log.append("try")
                raise ValueError("first", 1)
            except ValueError as error:
                log.append(error.args)
                raise KeyError("second") from error
            finally:
                log.append("finally")
        except KeyError as error:
            log.append(repr(error.__cause__))
        try:
            return x + {}["missing"]
        except (KeyError, MemoryError) as error:
            log.append(type(error).__name__)
        return x - 1

    return program, [(torch.ones(2), []) for _ in range(2)]


def modules() -> Made:
    def program(module: Any, x: Any, log: Any) -> Any:
        log.append(module.training)
        return torch.nn.functional.relu(module(x)).reshape(-1)[None], x.shape, x.dtype

    def calls(seed: int) -> tuple[Any, ...]:
        torch.manual_seed(seed)
        return torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 2)), torch.ones(4, 2), []

    return program, [calls(0), calls(1)]


CASES = {make.__name__: make for make in (containers, attributes, classes, closures, generators, breaks, recompiles, exceptions, modules)}


def look(args: tuple[Any, ...]) -> State:
    """The state of each object by itself: in which order two objects are written to is not promised where memory ends between."""
    state: State = {}
    for place, value in enumerate(args):
        own = {}
        for name, item in vars(value).items() if isinstance(value, Thing) else ():
            if isinstance(item, list):
                state[f"{place}.{name}"] = text(item)
            else:
                own[name] = item
        state[str(place)] = text(own if isinstance(value, Thing) else value)
    return state


known_code: dict[str, types.CodeType] = {}


def compile_with_memory(source: str, filename: str, mode: str, **options: Any) -> types.CodeType:
    """For torch.fx: CPython 3.11's compile() frees twice what it has when memory ends at its beginning."""
    if source not in known_code:
        if Experiments.without:
            raise MemoryError
        known_code[source] = compile(source, filename, mode, **options)
    return known_code[source]


vars(torch.fx.graph_module)["compile"] = compile_with_memory


def backend(graph_module: torch.fx.GraphModule, example_inputs: list[torch.Tensor]) -> Function:
    """As light as can be: what happens to torch's own code without memory is not asked here."""
    return graph_module.forward


# ------------------------------------------------------------------------------------------------------- allocators


class PythonMemory:
    """CPython's allocators: of objects, of memory, and the raw one."""

    def __init__(self) -> None:
        self.fail = _testcapi.set_nomemory
        self.work = _testcapi.remove_mem_hooks


class NativeMemory:
    """`operator new`, where minidynamo's native part calls it."""

    def __init__(self) -> None:
        library = ctypes.PyDLL(None)
        library.minidynamo_test_fail_new.argtypes = [ctypes.c_long, ctypes.c_long]
        library.minidynamo_test_allow_new.restype = ctypes.c_long
        self.fail = library.minidynamo_test_fail_new
        self.work = library.minidynamo_test_allow_new
        assert library.minidynamo_test_watch(_C.__file__.encode()), "the library is not found"


# ------------------------------------------------------------------------------------------------------ experiments


@dataclasses.dataclass
class Expected:
    """The expectations of a call, from eager: the result, each state of each argument between any two lines, and the last one."""

    result: str
    on_the_way: dict[str, set[str]]
    end: State


def eager_call(function: Function, args: tuple[Any, ...]) -> Expected:
    on_the_way: dict[str, set[str]] = {}

    def note() -> None:
        for place, state in look(args).items():
            on_the_way.setdefault(place, set()).add(state)

    def trace(frame: Any, event: str, arg: Any) -> Any:
        note()
        return trace

    note()
    sys.settrace(trace)
    try:
        result = function(*args)
    finally:
        sys.settrace(None)
    note()
    return Expected(text(result), on_the_way, look(args))


def says_no_memory(error: BaseException) -> bool:
    """MemoryError, or what torch and CPython 3.11 say in its place in eager code too (`test_eager_itself`).

    torch raises an error of its own where it has no memory for a tensor's object, and `Tensor.to` returns its result with the error
    still set. CPython loses an exception on its way to a handler when it has no memory for what it pushes there.
    """
    text = str(error)
    if type(error) is SystemError and "minidynamo" not in text and "program" not in text:
        if text.endswith(("error return without exception set", "returned NULL without setting an exception")):
            return True
        return "torch._C" in text and text.endswith("returned a result with an exception set")
    return type(error) in (MemoryError, torch.OutOfMemoryError)


class Experiments:
    """Experiments with one step of a case: the call with that number, after those before it.

    Attributes:
        without: true while memory is being refused.
    """

    without = False

    def __init__(self, case: str, step: int, memory: Any) -> None:
        self.make, self.step, self.memory = CASES[case], step, memory
        function, calls = self.make()
        self.expected = [eager_call(function, args) for args in calls]

    def make_one(self, start: int, stop: int) -> tuple[str, bool, bool]:
        """The failure, if any; whether the program got a MemoryError; whether the call ended with an entry more."""
        function, calls = self.make()
        function = fresh(function)
        captured = minidynamo.optimize(backend)(function)
        for args, expected in zip(calls[: self.step], self.expected):
            assert text(captured(*args)) == expected.result
        entries = len(_C.cache_entries(function.__code__))
        args = calls[self.step]
        error, value = self.without_memory(captured, args, start, stop)
        wrong = self.judge(error, value, args)
        failed = error is not None
        more = len(_C.cache_entries(function.__code__)) > entries
        del error, value
        if wrong:
            return wrong, failed, more
        _, calls = self.make()
        for number, (args, expected) in enumerate(zip(calls, self.expected)):
            result = text(captured(*args))
            if (result, look(args)) != (expected.result, expected.end):
                return f"later, call {number} returns {result}, {look(args)} instead of {expected.result}, {expected.end}", failed, more
        if not _C.cache_entries(function.__code__):
            return f"later, nothing is captured: {[(r['reason'], r['detail']) for r in _C.uncaptured()[-2:]]}", failed, more
        return "", failed, more

    def without_memory(self, function: Function, args: tuple[Any, ...], start: int, stop: int) -> tuple[BaseException | None, Any]:
        fail, work = self.memory.fail, self.memory.work
        gc.disable()
        Experiments.without = True
        try:
            fail(start, stop)
            value = function(*args)
            work()
            return None, value
        except BaseException as error:
            work()
            return error, None
        finally:
            work()
            Experiments.without = False
            gc.enable()

    def judge(self, error: BaseException | None, value: Any, args: tuple[Any, ...]) -> str:
        expected = self.expected[self.step]
        now = look(args)
        if error is None:
            if (text(value), now) != (expected.result, expected.end):
                return f"returns {text(value)}, {now} instead of {expected.result}, {expected.end}"
        elif not says_no_memory(error):
            return f"{type(error).__name__}: {str(error)[:300]}"
        else:
            for place, state in now.items():
                if state not in expected.on_the_way[place]:
                    return f"MemoryError, and argument {place} is {state}, which eager never makes it"
        return ""

    def count(self) -> int:
        """About how many allocations the step makes: from there on they may all fail."""
        if isinstance(self.memory, NativeMemory):
            function, calls = self.make()
            captured = minidynamo.optimize(backend)(fresh(function))
            for args in calls[: self.step]:
                captured(*args)
            self.memory.fail(2**60, 2**60)
            captured(*calls[self.step])
            return int(self.memory.work())
        high = 64
        while not self.is_behind(high) and high < 100_000:
            high *= 2
        low = high // 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.is_behind(middle) else (middle, high)
        return high

    def is_behind(self, start: int) -> bool:
        told, _ = in_child(lambda tell: tell(self.make_one(start, start + MANY)), 60)
        return bool(told) and not told[0][0] and not told[0][1]


@dataclasses.dataclass
class Outcome:
    start: int
    stop: int
    wrong: str
    failed: bool = False


def in_child(work: Callable[[Callable[[Any], None]], None], seconds: float) -> tuple[list[Any], int]:
    """Runs it in a fork; what it tells, one JSON value at a time, and how it ended (0, or a signal's number, negative)."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        code = 1
        try:
            os.close(read)
            signal.alarm(int(seconds))
            work(lambda told: os.write(write, (json.dumps(told) + "\n").encode()) and None)
            code = 0
        except BaseException as error:
            sys.excepthook(type(error), error, error.__traceback__)
        finally:
            os._exit(code)
    os.close(write)
    with os.fdopen(read) as lines:
        told = [json.loads(line) for line in lines if line.endswith("\n")]
    return told, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def search(experiments: Experiments, plan: Iterable[tuple[int, int]], row: int) -> list[Outcome]:
    """Makes the experiments of the plan, `row` of them in a child."""
    left, outcomes = list(plan), []
    while left:
        now = left[:row]

        def work(tell: Callable[[Any], None], now: list[tuple[int, int]] = now) -> None:
            for start, stop in now:
                tell(["begin", start, stop])
                wrong, failed, _ = experiments.make_one(start, stop)
                tell(["end", wrong, failed])

        told, status = in_child(work, 120)
        begun = [Outcome(start, stop, "") for kind, start, stop in told if kind == "begin"]
        for outcome, (_, wrong, failed) in zip(begun, [t for t in told if t[0] == "end"]):
            outcome.wrong, outcome.failed = wrong, failed
        if status and begun:
            begun[-1].wrong = f"the process dies of {signal.Signals(-status).name if status < 0 else status}"
        outcomes += begun
        left = left[max(len(begun), 1) :]
    return outcomes


def search_calls(memory: Any) -> int:
    """Functions of the API, each without its k-th allocation; how many were wrong. Not those that give lists: pybind11 makes them, and
    has RuntimeError for a list that cannot be made."""
    calls: dict[str, Function] = {
        "reset": lambda f: minidynamo.reset(),
        "optimize": lambda f: minidynamo.optimize(backend)(breaks()[0]),
        "hook_owner": lambda f: _C.hook_owner(),
    }
    wrong = 0
    for name, call in calls.items():
        function, args = breaks()
        f = minidynamo.optimize(backend)(function)
        expected = text(f(*args[0]))
        call(f)

        def work(tell: Callable[[Any], None]) -> None:
            for k in range(300):
                tell(k)
                try:
                    memory.fail(k, k + 1)
                    call(f)
                    memory.work()
                except BaseException as error:
                    memory.work()
                    assert says_no_memory(error), error
                if k % 10 == 0:
                    assert text(f(*breaks()[1][0])) == expected
                    assert _C.cache_entries(function.__code__)

        told, status = in_child(work, 120)
        print(f"{name}: {len(told)} experiments, {'wrong at the last' if status else 'none wrong'}", flush=True)
        wrong += bool(status)
    return wrong


def warm_up(cases: Iterable[str]) -> None:
    """So that what is made once in a process is there."""
    for case in cases:
        function, _ = CASES[case]()
        for _ in range(2):
            captured = minidynamo.optimize(backend)(fresh(function))
            for args in CASES[case]()[1]:
                captured(*args)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--native", action="store_true", help="operator new fails")
    parser.add_argument("--cold", action="store_true", help="nothing was captured before; one experiment in a process")
    parser.add_argument("--all-from-there", action="store_true", help="the k-th allocation fails, and 100,000 more")
    parser.add_argument("--case", action="append", choices=sorted(CASES))
    parser.add_argument("--step", type=int)
    parser.add_argument("--stride", type=int, default=1)
    parser.add_argument("--hit-stride", type=int, help="for steps with few allocations")
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--calls", action="store_true", help="of reset() and other functions of the API")
    parser.add_argument("--only", type=int, help="this k, in this process")
    options = parser.parse_args()
    torch.set_num_threads(1)
    cases = options.case or list(CASES)
    memory = NativeMemory() if options.native else PythonMemory()
    if not options.cold:
        warm_up(CASES)
    kept_code.keep_all()
    failing = MANY if options.all_from_there else 1
    found = 0
    if options.calls:
        return 1 if search_calls(memory) else 0
    for case in cases:
        steps = range(len(CASES[case]()[1])) if options.step is None else [options.step]
        for step in steps:
            experiments = Experiments(case, step, memory)
            if options.only is not None:
                print(experiments.make_one(options.only, options.only + failing))
                continue
            begin = time.perf_counter()
            count = experiments.count()
            stride = options.hit_stride if options.hit_stride and count < 300 else options.stride
            plan = [(k, k + failing) for k in range(options.start, count + 4, stride)]
            outcomes = search(experiments, plan, 1 if options.cold else 100)
            wrong = [outcome for outcome in outcomes if outcome.wrong]
            failed = sum(outcome.failed for outcome in outcomes)
            print(
                f"{case} {step}: {count} allocations, {len(outcomes)} experiments, {failed} MemoryErrors, {len(wrong)} wrong, "
                f"{time.perf_counter() - begin:.0f} s",
                flush=True,
            )
            kinds: dict[str, list[int]] = {}
            for outcome in wrong:
                kinds.setdefault(outcome.wrong, []).append(outcome.start)
            for kind, starts in sorted(kinds.items(), key=lambda item: -len(item[1])):
                print(f"  {len(starts)} x {kind}: {starts[:6]}", flush=True)
            found += len(wrong)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
