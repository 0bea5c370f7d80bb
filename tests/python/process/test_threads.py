"""Many threads: first captures, the same capture at once, backends, resets, forks, guards under the garbage collector.

Each program runs in a fresh process, since what goes wrong (a hang, a crash) takes its process with it, and since first
captures come once in a process. MINIDYNAMO_FULL=1 runs the long forms.
"""

import os
import pathlib
import re
import subprocess
import sys
import textwrap

import pytest
from environments import ORACLES

FULL = os.environ.get("MINIDYNAMO_FULL") == "1"
LIMIT = 240  # seconds for a fresh process, on a machine that does other things too


def run_fresh(program: str, *arguments: str, limit: float = LIMIT) -> str:
    """Runs a program in a process of its own, and returns what it printed.

    A process that hangs says where its threads stand, and fails.
    """
    head = f"import faulthandler; faulthandler.enable(); faulthandler.dump_traceback_later({limit - 20}, exit=True)\n"
    done = subprocess.run(
        [sys.executable, "-c", head + textwrap.dedent(program), *arguments],
        capture_output=True,
        text=True,
        timeout=limit,
        cwd=ORACLES,
        env=os.environ | {"PYTHONSAFEPATH": "", "PYTHONPATH": str(ORACLES), "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-8000:]}"
    return done.stdout


TOGETHER = """
import sys, threading, traceback
import torch
import minidynamo
torch.set_num_threads(1)
# MKL chooses the kernel of a vector function at its first call; threads that make it together may run one of low accuracy, in eager
# mode too (pytorch issue 188792). These programs compare numbers exactly, so that the first calls are made here.
for name in ("cos", "exp", "log", "sigmoid", "sin", "sqrt", "tanh"): getattr(torch.ones(2), name)()

def together(count, work):
    '''Calls work(i) in as many threads, all at the same moment; returns the results in order.'''
    barrier = threading.Barrier(count)
    results, errors = [None] * count, []
    def one(i):
        barrier.wait()
        try:
            results[i] = work(i)
        except BaseException:
            errors.append(traceback.format_exc())
    threads = [threading.Thread(target=one, args=(i,)) for i in range(count)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    assert not errors, errors[0]
    return results
"""

FIRST_CALLS = (
    TOGETHER
    + """
sys.setswitchinterval(1e-6 if sys.argv[1] == 'often' else 0.005)
def make(i):
    scope = {"torch": torch}
    exec(f"def f(x):\\n  with torch.no_grad():\\n    y = [x.sin() + {i}, x.max(0)]\\n"
         "  return y[0].cos(), max(y[:1], key=lambda t: t.ndim)", scope)
    return minidynamo.compile(scope["f"], backend="eager", fullgraph=True), scope["f"]
functions = [make(i) for i in range(8)]
x = torch.arange(6.0)
for got, (_, f) in zip(together(8, lambda i: functions[i][0](x)), functions):
    for a, b in zip(got, f(x)):
        assert torch.equal(a, b)
print("done")
"""
)


@pytest.mark.parametrize("switching", ["often", "seldom"])
@pytest.mark.parametrize("run", range(25 if FULL else 1))
def test_first_captures_in_eight_threads(switching: str, run: int) -> None:
    assert run_fresh(FIRST_CALLS, switching) == "done\n"


ONE_FUNCTION = (
    TOGETHER
    + """
count, backend = int(sys.argv[1]), sys.argv[2]
compiled = []
def counting(graph_module, inputs):
    compiled.append(1)
    import time; time.sleep(0.2)
    return minidynamo.backends.resolve(backend)(graph_module, inputs)
def f(x, y):
    return (x @ y).relu().sum() + len([x, y])
g = minidynamo.compile(f, backend=counting)
x, y = torch.randn(4, 4), torch.randn(4, 4, requires_grad=True)
for result in together(count, lambda i: g(x, y)):
    assert torch.allclose(result, f(x, y))
assert len(compiled) == 1, compiled
assert not minidynamo._C.uncaptured() and minidynamo._C.statistics()["entries"] == 1, minidynamo._C.statistics()
print("done")
"""
)


@pytest.mark.parametrize("count, backend", [(8, "eager"), (8, "aot_eager"), (200, "eager")])
def test_threads_that_come_together_make_one_entry(count: int, backend: str) -> None:
    assert run_fresh(ONE_FUNCTION, str(count), backend) == "done\n"


SHAPES = (
    TOGETHER
    + """
def f(x, flag):
    return x.sin() + 1 if flag else x.cos()
g = minidynamo.compile(f, backend="eager")
x = torch.randn(5)
results = together(40, lambda i: g(x, i % 2 == 0))
assert all(torch.equal(result, f(x, i % 2 == 0)) for i, result in enumerate(results))
assert minidynamo._C.statistics()["entries"] == 2, minidynamo._C.statistics()
print("done")
"""
)


def test_as_many_entries_as_one_thread_would_make() -> None:
    assert run_fresh(SHAPES) == "done\n"


UNCAPTURED = (
    TOGETHER
    + """
import time
def slow(graph_module, inputs):
    time.sleep(0.1)
    raise RuntimeError("no")
g = minidynamo.compile(lambda x: x.sin() + 1, backend=slow)
minidynamo.config.suppress_errors = True
x = torch.randn(5)
assert all(torch.equal(result, x.sin() + 1) for result in together(8, lambda i: g(x)))
assert len(minidynamo._C.uncaptured()) == 1, len(minidynamo._C.uncaptured())
print("done")
"""
)


def test_a_failed_capture_is_not_repeated_by_those_who_waited() -> None:
    assert run_fresh(UNCAPTURED) == "done\n"


BACKEND_THREADS = (
    TOGETHER
    + """
import time
minidynamo.config.capture_wait = 1.0
y = torch.ones(3)
def inner(x):
    return x * 2 + 1
captured_inner = minidynamo.compile(inner, backend="eager")
def starts_threads(graph_module, inputs):
    # Needs what only a thread can give that needs the backend.
    assert all(torch.equal(result, inner(y)) for result in together(3, lambda i: captured_inner(y)))
    assert all(torch.equal(result, f(y)) for result in together(2, lambda i: g(y)))
    return graph_module
def f(x):
    return x.sin() - 1
g = minidynamo.compile(f, backend=starts_threads)
began = time.monotonic()
assert torch.equal(g(y), f(y))
assert time.monotonic() - began < 60
assert torch.equal(captured_inner(y), inner(y))
assert minidynamo._C.statistics()["entries"] == 2, minidynamo._C.statistics()
print("done")
"""
)


def test_a_backend_may_wait_for_threads_that_call_captured_functions() -> None:
    assert run_fresh(BACKEND_THREADS) == "done\n"


INTERRUPT = (
    TOGETHER
    + """
import os, signal, time
entered, leave = threading.Event(), threading.Event()
def waits(graph_module, inputs):
    entered.set()
    assert leave.wait(60)
    return graph_module
g = minidynamo.compile(lambda x: x.sin() + 1, backend=waits)
x = torch.randn(3)
thread = threading.Thread(target=g, args=(x,))
thread.start()
assert entered.wait(60)
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
began = time.monotonic()
try:
    g(x)
except KeyboardInterrupt:
    print("interrupted")
assert time.monotonic() - began < 20
leave.set()
thread.join()
assert torch.equal(g(x), x.sin() + 1)
print("done")
"""
)


def test_a_thread_that_waits_is_interrupted() -> None:
    assert run_fresh(INTERRUPT) == "interrupted\ndone\n"


BESIDE_TORCH = (
    TOGETHER
    + """
import time
import torch._dynamo.convert_frame
working, most = 0, 0
def watch(graph_module, inputs):
    global working, most
    assert torch._dynamo.convert_frame.compile_lock._is_owned()
    working += 1
    most = max(most, working)
    time.sleep(0.05)
    working -= 1
    return graph_module
functions = []
for i in range(8):
    scope = {}
    exec(f"def f(x): return x.sin() * {i} + x.cos()", scope)
    functions.append((scope["f"], minidynamo.compile(scope["f"], backend=watch)))
x = torch.randn(4)
def call(i):
    if i < 8:
        return functions[i][1](x)
    for _ in range(5):  # as torch.compile does
        with torch._dynamo.convert_frame.compile_lock:
            before = working
            time.sleep(0.02)
            assert before == working == 0
for (f, _), result in zip(functions, together(9, call)):
    assert torch.equal(f(x), result)
assert most == 1, most
assert torch._dynamo.convert_frame.compile_lock.acquire(blocking=False)
print("done")
"""
)


def test_one_backend_works_at_a_time_and_not_beside_torch_compile() -> None:
    assert run_fresh(BESIDE_TORCH) == "done\n"


FORK = (
    TOGETHER
    + """
import os, time, warnings
warnings.simplefilter("ignore")
entered, leave = threading.Event(), threading.Event()
def waits(graph_module, inputs):
    entered.set()
    assert leave.wait(100)
    return graph_module
if sys.argv[1] == "with_torch":
    import torch._dynamo
f = lambda x: x.sin() + 1
h = lambda x: x.cos() + 1
g = minidynamo.compile(f, backend=waits)
other = minidynamo.compile(h, backend="eager")
x = torch.randn(3)
thread = threading.Thread(target=g, args=(x,))
thread.start()
assert entered.wait(100)  # the thread captures f and holds the backend
child = os.fork()
if child == 0:
    # Its captures and its backend are free, though the thread that had them never ends here.
    leave.set()
    began = time.monotonic()
    ok = torch.equal(other(x), h(x)) and torch.equal(g(x), f(x)) and minidynamo._C.statistics()["entries"] == 2
    more = together(4, lambda i: minidynamo.compile(lambda x: x * i, backend="eager")(x))
    ok = ok and all(torch.equal(result, x * i) for i, result in enumerate(more)) and time.monotonic() - began < 20
    os._exit(0 if ok else 1)
_, status = os.waitpid(child, 0)
assert status == 0, status
leave.set()
thread.join()
assert torch.equal(g(x), f(x)) and torch.equal(other(x), h(x))
print("done")
"""
)


@pytest.mark.parametrize("torch_dynamo", ["with_torch", "without"])
def test_a_fork_in_the_middle_of_a_compile(torch_dynamo: str) -> None:
    assert run_fresh(FORK, torch_dynamo) == "done\n"


FORK_IN_BACKEND = (
    TOGETHER
    + """
import os, warnings
warnings.simplefilter("ignore")
x = torch.randn(3)
h = lambda x: x.cos() + 1
other = minidynamo.compile(h, backend="eager")
def forks(graph_module, inputs):
    child = os.fork()
    if child == 0:
        thread_results = together(2, lambda i: other(x))
        os._exit(0 if all(torch.equal(result, h(x)) for result in thread_results) else 1)
    assert os.waitpid(child, 0)[1] == 0
    return graph_module
g = minidynamo.compile(lambda x: x.sin() + 1, backend=forks)
assert torch.equal(g(x), x.sin() + 1) and torch.equal(other(x), h(x))
print("done")
"""
)


def test_a_backend_that_forks() -> None:
    assert run_fresh(FORK_IN_BACKEND) == "done\n"


PROCESSES = """
import multiprocessing, sys, warnings
warnings.simplefilter("ignore")
import torch, minidynamo
torch.set_num_threads(1)
@minidynamo.compile(backend="aot_eager")
def f(x, n):
    return (x * n).sin().sum()
def work(n):
    return f(torch.ones(3), n).item()
if __name__ == "__main__":
    expected = [torch.full((3,), float(n)).sin().sum().item() for n in range(4)]
    assert work(0) == expected[0]
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        assert pool.map(work, range(4)) == expected
    print("done")
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_worker_processes(tmp_path: pathlib.Path, method: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROCESSES)
    done = subprocess.run(
        [sys.executable, str(program), method],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr[-8000:]


COLLECTOR = (
    TOGETHER
    + """
import gc, time
# While the tensor work of a trace lets go of the GIL, another thread switches the collector off, or on.
stop = False
def f(x):
    for i in range(300):
        x = x.sin() + i
    return x
x = torch.randn(3)
for wanted in (False, True):
    (gc.enable if not wanted else gc.disable)()
    minidynamo.reset()
    changed = threading.Event()
    def change():
        while not minidynamo._C.statistics()["frames"]:
            time.sleep(0)
        (gc.enable if wanted else gc.disable)()
        changed.set()
    thread = threading.Thread(target=change)
    thread.start()
    sys.setswitchinterval(1e-6)
    together(3, lambda i: minidynamo.compile(lambda x: f(x) + i, backend="eager")(x))
    thread.join()
    assert gc.isenabled() is wanted
gc.enable()
class Cycle:
    died = 0
    def __del__(self):
        Cycle.died += 1
for i in range(2000):
    cycle = Cycle()
    cycle.itself = cycle
    del cycle
assert Cycle.died  # and the collector runs by itself again
print("done")
"""
)


def test_the_collector_is_as_the_program_left_it() -> None:
    assert run_fresh(COLLECTOR) == "done\n"


SERVER = (
    TOGETHER
    + """
import http.server, socketserver, urllib.request
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
fast = minidynamo.compile(model, backend="aot_eager")
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        with torch.no_grad():
            answer = fast(torch.full((1, 4), float(self.path[1:]))).item()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(repr(answer).encode())
    def log_message(self, *_):
        pass
class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 256
server = Server(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
ask = lambda i: float(urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/{i}", timeout=150).read())
answers = together(200, ask)
server.shutdown()
with torch.no_grad():
    for i, answer in enumerate(answers):
        assert abs(model(torch.full((1, 4), float(i))).item() - answer) < 1e-4
assert minidynamo._C.statistics()["entries"] == 1, minidynamo._C.statistics()
print("done")
"""
)


def test_a_server_whose_first_requests_come_together() -> None:
    assert run_fresh(SERVER) == "done\n"


GENERATED = (
    TOGETHER
    + """
import copy, pickle
sys.setswitchinterval(1e-6)
graphs = []
def keep(graph_module, inputs):
    graphs.append(graph_module)  # its source is not generated yet
    return lambda x: (f(x),)
def f(x):
    for _ in range(100):
        x = x.sin().cos() * 2 + 1
    return x
x = torch.arange(4.0)
ways = [
    lambda g: g(x)[0],
    lambda g: g.forward(x)[0],
    lambda g: copy.deepcopy(g)(x)[0],
    lambda g: (g.code, g(x)[0])[1],
    lambda g: (pickle.dumps(g), g(x)[0])[1],
]
for n in range(40):
    minidynamo.reset()
    minidynamo.compile(f, backend=keep)(x)
    fresh = graphs.pop()
    assert type(fresh).__name__ == "GraphModule"
    for result in together(8, lambda i: ways[(i + n) % len(ways)](fresh)):
        assert torch.equal(result, f(x)), result
print("done")
"""
)


def test_the_source_of_a_graph_is_generated_by_one_thread() -> None:
    assert run_fresh(GENERATED) == "done\n"


HAMMER = (
    TOGETHER
    + """
import random, time
calls = int(sys.argv[1])
sys.setswitchinterval(1e-5)
minidynamo.config.recompile_limit = 6
class Settings:
    scale, mode, steps = 1.0, "sin", [1, 2]
    table = {"a": 1.0}
class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(3))
    def forward(self, x, k):
        y = x * self.weight + k
        for step in Settings.steps:
            y = y + step * Settings.scale
        if Settings.mode == "sin":
            y = y.sin()
        size = len(Settings.table)
        return y * Settings.table["a"] + size
layer = Layer()
plain = lambda x, k: layer(x, k)
def broken(x, k):
    y = x + k
    tick.append(k)
    time.monotonic()
    return y * len(tick[:1]) + k
tick = []
minidynamo.config.capture_wait = 20.0
targets = [(minidynamo.compile(f, backend="eager"), f) for f in (plain, broken)]
bare = minidynamo.compile(layer, backend="eager")
lock = threading.Lock()
# A call sees guarded state as it was at some moment of it: without a writer it is exact, and checked then.
writing = threading.Event()
def mutate(r):
    what = r.randrange(7)
    if what == 0: Settings.scale = r.choice([1.0, 2.0])
    elif what == 1: Settings.mode = r.choice(["sin", "cos"])
    elif what == 2: Settings.steps = r.choice([[1, 2], [3], [1, 2]])
    elif what == 3: Settings.table["a"] = r.choice([1.0, 3.0])
    elif what == 4: Settings.table = {"a": Settings.table["a"], **({"b": 1} if r.random() < 0.5 else {})}
    elif what == 5: layer.weight = torch.nn.Parameter(torch.full((3,), float(r.randrange(3))))
    else: layer.note = r.random()
def work(i):
    r = random.Random(i)
    mine = torch.full((r.choice([1, 3]),), float(i))
    for n in range(calls):
        f, original = targets[n % 2]
        k = r.choice([1, 2, 3])
        if r.random() < 0.01 and i < 3:
            with lock:
                mutate(r)
        if r.random() < 0.002 and i == 7:
            minidynamo.reset()
        if n % 50 == 0:
            with lock:  # no writer runs
                a, b, c = f(mine, k), original(mine, k), bare(mine, k)
                assert torch.equal(a, b), (a, b)
                assert torch.equal(c, layer(mine, k))
        else:
            f(mine, k)
together(8, work)
minidynamo.reset()
assert not [name for name in globals() if name.startswith(("__compiled_fn", "__resume_at"))], globals().keys()
print("done")
"""
)


def test_eight_threads_with_recompiles_resets_and_mutations() -> None:
    assert run_fresh(HAMMER, "20000" if FULL else "1500", limit=1800 if FULL else LIMIT) == "done\n"


COLLECTED = """
import collections, contextvars, functools, gc, itertools, sys
import torch, minidynamo
torch.set_num_threads(1)
gc.freeze()
variable = contextvars.ContextVar("variable", default=1.0)
class Box:
    value = 1.0
    def __init__(self):
        self.value, self.items, self.pairs, self.weight = 1.0, [1.0, 2.0], {"a": 1.0}, torch.ones(3)
        self.many = collections.OrderedDict(a=1.0, b=2.0)
        self.last = collections.deque([1.0, 2.0])
    def scaled(self, x): return x * self.value
class Slots:
    __slots__ = ("value",)
    def __init__(self): self.value = 1.0
def by_attribute(x, box): return x * box.value
def by_item(x, box): return x * box.items[0]
def by_length(x, box): return x * len(box.items)
def by_key(x, box): return x * box.pairs["a"]
def by_order(x, box): return x * list(box.many.values())[0] + len(box.many)
def by_deque(x, box): return x * box.last[0]
def by_tensor(x, box): return x * box.weight
def by_method(x, box): return (lambda m: m(x))(box.scaled)
def by_bound(x, method): return method(x)
def by_class(x, box): return x * Box.value
def by_closure():
    scale = 1.0
    def f(x, box): return x * scale
    def change(value):
        nonlocal scale
        scale = value
    return f, change
def by_context(x, box): return x * variable.get()
def by_slot(x, slots): return x * slots.value
def by_zip(x, pairs): return x * sum(a * b for a, b in pairs)
def by_enumerate(x, numbered): return x * sum(a * b for a, b in numbered)
def by_default(x, box=[1.0]): return x * box[0]
def by_partial(x, partial): return x * partial.keywords["value"]
def by_dict(x, box): return x * sum(v for v in vars(box).values() if type(v) is float)
def by_isinstance(x, box): return x * (2 if isinstance(box, collections.abc.Sized) else 1)
box, slots = Box(), Slots()
numbers = [1.0, 2.0]
closure, change_closure = by_closure()
partial = functools.partial(print, value=1.0)
def set_first(holder):
    def change(value): holder[0] = value
    return change
def set_order(value):
    box.many["a"] = value
    box.many.move_to_end("a", last=False)
cases = [
    (by_attribute, lambda: (box,), lambda v: setattr(box, "value", v)),
    (by_item, lambda: (box,), lambda v: box.items.__setitem__(0, v)),
    (by_item, lambda: (box,), lambda v: setattr(box, "items", [v, 2.0])),
    (by_length, lambda: (box,), lambda v: setattr(box, "items", [1.0] * int(v))),
    (by_key, lambda: (box,), lambda v: setattr(box, "pairs", {"a": v})),
    (by_key, lambda: (box,), lambda v: box.pairs.update(a=v)),
    (by_order, lambda: (box,), set_order),
    (by_deque, lambda: (box,), lambda v: setattr(box, "last", collections.deque([v]))),
    (by_tensor, lambda: (box,), lambda v: setattr(box, "weight", torch.full((3,), v))),
    (by_method, lambda: (box,), lambda v: setattr(box, "value", v)),
    (by_bound, lambda: (box.scaled,), lambda v: setattr(box, "value", v)),
    (by_class, lambda: (box,), lambda v: setattr(Box, "value", v)),
    (closure, lambda: (box,), change_closure),
    (by_context, lambda: (box,), variable.set),
    (by_slot, lambda: (slots,), lambda v: setattr(slots, "value", v)),
    (by_zip, lambda: (zip(numbers, numbers),), set_first(numbers)),
    (by_enumerate, lambda: (enumerate(numbers),), set_first(numbers)),
    (by_default, lambda: (), set_first(by_default.__defaults__[0])),
    (by_partial, lambda: (partial,), lambda v: partial.keywords.update(value=v)),
    (by_dict, lambda: (Box(),), lambda v: setattr(Box, "value", v)),
    (by_isinstance, lambda: (box,), lambda v: collections.abc.Sized.register(type("Other", (), {}))),
]
class Finalizer:
    def __init__(self, act):
        self.act, self.cycle = act, self
    def __del__(self):
        self.act()
x = torch.arange(1.0, 4.0)
ran = 0
for original, arguments, change in cases:
    minidynamo.reset()
    minidynamo.config.recompile_limit = 100
    captured = minidynamo.compile(original, backend="eager")
    for n in range(int(sys.argv[1])):
        value = float(n % 3 + 1)
        old = original(x, *arguments())
        captured(x, *arguments())
        gc.collect()
        gc.disable()
        def act():
            global ran
            ran += 1
            change(value)
            captured(x, *arguments())  # also in the middle of a call, and so perhaps of a walk
        Finalizer(act)
        given = arguments()
        gc.set_threshold(1)
        gc.enable()
        result = captured(x, *given)
        gc.set_threshold(700)
        gc.collect()
        new = original(x, *arguments())
        assert torch.equal(result, old) or torch.equal(result, new), (original, result, old, new)
        assert torch.equal(captured(x, *arguments()), new), (original, captured(x, *arguments()), new)
        del act
assert ran == len(cases) * int(sys.argv[1])
print("done")
"""


def test_the_collector_runs_at_every_allocation() -> None:
    assert run_fresh(COLLECTED, "200" if FULL else "6") == "done\n"


def test_the_corpus_in_eight_threads() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "threaded_corpus.py", "8", "1" if FULL else "16"],
        capture_output=True,
        text=True,
        timeout=1800 if FULL else LIMIT,
        cwd=ORACLES,
        env=os.environ | {"PYTHONPATH": str(ORACLES), "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stderr[-2000:]}\n{done.stdout[-8000:]}"
    runs, programs = (int(number) for number in re.findall(r"^(\d+) runs of (\d+) programs", done.stdout, re.MULTILINE)[0])
    assert runs >= 200 and programs >= 200


STATE = (
    TOGETHER
    + """
entered, changed = threading.Event(), threading.Event()
@minidynamo.assume_constant_result
def moment():  # runs for real while f is traced
    entered.set()
    assert changed.wait(60)
    return 1
def f(x):
    is_single = torch.ones(2).dtype is torch.float32
    x = x.sin() + moment()
    return x if is_single else -x
x = torch.randn(3)
g = minidynamo.compile(f, backend="eager")
def work(i):
    if i == 0:
        g(x)
        return
    assert entered.wait(60)
    assert minidynamo._C.statistics()["captured"] == 0
    torch.set_default_dtype(torch.float64)
    torch.use_deterministic_algorithms(True)
    torch.set_float32_matmul_precision("high")
    changed.set()
together(2, work)
assert torch.get_default_dtype() == torch.float64 and torch.get_float32_matmul_precision() == "high"
assert torch.are_deterministic_algorithms_enabled()
assert torch.equal(g(x), f(x))  # and no entry is taken for one of the new state that was traced under the old
torch.set_default_dtype(torch.float32)
assert torch.equal(g(x), f(x))
assert not minidynamo._C.uncaptured(), minidynamo._C.uncaptured()
print("done")
"""
)


def test_a_trace_leaves_what_another_thread_sets() -> None:
    assert run_fresh(STATE) == "done\n"
