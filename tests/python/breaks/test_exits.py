"""The end of a process: daemon threads in the middle of whatever they do, finalizers, atexit handlers, sys.exit."""

import os
import subprocess
import sys

import pytest

_EXITS = 100 if os.environ.get("MINIDYNAMO_FULL") else 4

_PRELUDE = """
import atexit, os, random, sys, threading, time
import torch
import minidynamo

torch.set_num_threads(1)
minidynamo.config.stop_where_slower = False  # which would say so
x = torch.ones(20, 20)
ready = threading.Semaphore(0)

@minidynamo.optimize("eager")
def warm(x):
    return torch.zeros(2) + x.sum()

warm(x)  # fills what is looked up once

# Goes on in so many children, one after the other; the parent says how they ended.
def fork_exits(count):
    sys.stdout.flush()
    for _ in range(count):
        child = os.fork()
        if child == 0:
            random.seed()
            return
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    sys.exit()

def at_work():
    ready.release()
    while True:
        yield

def daemons(work, count=4):
    for _ in range(count):
        threading.Thread(target=work, daemon=True).start()
    for _ in range(count):
        ready.acquire()
    time.sleep(random.random() * 0.05)
"""

# The work of each of four daemon threads when the main thread returns.
_AT_WORK = {
    "python": """
        def work():
            def add(n):
                return n + 1
            for _ in at_work():
                add(3)
    """,
    "operators": """
        def work():
            for _ in at_work():
                (x @ x).sin().sum().item()
    """,
    "autograd": """
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2
            @staticmethod
            def backward(ctx, gradient):
                return gradient * 2

        def work():
            w = torch.ones(5, requires_grad=True)
            for _ in at_work():
                Double.apply(w).sum().backward()
    """,
    "capture": """
        def capture():
            @minidynamo.optimize("eager")
            def f(x):
                for i in range(50):
                    x = x.sin() + len([i] * i)
                return sum(map(lambda part: part + 1, x.unbind()))
            f(x)

        capture()

        def work():
            for _ in at_work():
                capture()
    """,
    "cached call": """
        @minidynamo.optimize("eager")
        def f(x):
            return (x @ x).sin()

        f(x)

        def work():
            for _ in at_work():
                f(x)
    """,
    "backend": """
        def slow(graph_module, example_inputs):
            for _ in range(100):
                time.sleep(0)
                graph_module(*example_inputs)
            return graph_module.forward

        def capture():
            def f(x):
                return x.sin() + 1
            minidynamo.optimize(slow)(f)(x)

        capture()

        def work():
            for _ in at_work():
                capture()
    """,
    "graph breaks": """
        @minidynamo.optimize("eager")
        def f(x):
            for _ in range(5):
                x = x.sin()
                time.sleep(0)
                x = x.cos()
            return x

        f(x)

        def work():
            for _ in at_work():
                f(x)
    """,
    "a stack of its own": """
        threading.stack_size(256 * 1024)

        @minidynamo.optimize("eager")
        def f(x):
            time.sleep(0)
            return x.sin() + 1

        f(x)

        def work():
            for _ in at_work():
                f(x)
    """,
}


def _run(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "OMP_NUM_THREADS": "1", "MINIDYNAMO_BACKEND": "inductor", **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )


def _program(body: str) -> str:
    lines = body.splitlines()
    indent = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    return _PRELUDE + "\n".join(line[indent:] for line in lines)


@pytest.mark.parametrize("mode", ["0", "1"], ids=["optimize", "global"])
@pytest.mark.parametrize("work", _AT_WORK)
def test_daemon_threads_at_exit(work: str, mode: str) -> None:
    run = _run(_program(_AT_WORK[work]) + f"\nfork_exits({_EXITS})\ndaemons(work)\nprint('end')\n", MINIDYNAMO=mode)
    assert (run.returncode, run.stdout, run.stderr) == (0, "end\n0\n" * _EXITS, "")


def test_captured_functions_at_exit() -> None:
    """In atexit handlers they are captured, and threads that leave by sys.exit end alone."""
    run = _run(
        _PRELUDE
        + """
@minidynamo.optimize("eager")
def f(x):
    return x + 1

def handler():
    print(minidynamo.optimize("eager")(lambda x: x * 2)(x).sum().item(), f(x).sum().item())

atexit.register(handler)

def leave():
    f(x)
    sys.exit("from a thread")

thread = threading.Thread(target=leave)
thread.start()
thread.join()
sys.exit(3)
""",
        MINIDYNAMO="1",
    )
    assert (run.returncode, run.stdout, run.stderr) == (3, "800.0 800.0\n", "")


def test_os_exit_and_threads_that_are_waited_for() -> None:
    body = """
def work():
    for _ in range(20):
        minidynamo.optimize("eager")(lambda x: x.sin() + sum(map(abs, range(9))))(x)
    print("done")

"""
    waited = _run(_PRELUDE + body + "threading.Thread(target=work).start()", MINIDYNAMO="1")
    assert (waited.returncode, waited.stdout, waited.stderr) == (0, "done\n", "")
    at_once = _run(_PRELUDE + body + "threading.Thread(target=work).start()\nos._exit(5)", MINIDYNAMO="1")
    assert at_once.returncode == 5
