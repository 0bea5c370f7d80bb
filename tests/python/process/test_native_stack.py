"""Recursion as deep as the program wants it: with a frame hook every Python call takes some of the C stack."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import sys
import threading

import torch

import minidynamo

sys.setrecursionlimit(100_000)


def depth(n):
    return 0 if n == 0 else 1 + depth(n - 1)


class Chain:
    def __getattr__(self, name):
        return 1 if name == "a0" else getattr(self, f"a{int(name[1:]) - 1}")


@minidynamo.optimize("eager")
def f(x, n):
    return x + depth(n)


@minidynamo.optimize("eager")
def g(x, chain, name):
    return x + getattr(chain, name)


@minidynamo.disable
def nested(depth):
    lists = [0]
    for _ in range(depth):
        lists = [lists]
    return lists


@minidynamo.optimize("eager")
def h(x, depth):
    return x + len(nested(depth))


def show():
    x = torch.zeros(1)
    print([f(x, n).item() for n in (20, 20_000, 20_000, 3)])


{what}
"""


@pytest.mark.parametrize(
    "what, expected",
    [
        ("show()", "[20.0, 20000.0, 20000.0, 3.0]"),
        ("print(g(torch.zeros(1), Chain(), 'a1500').item())", "1.0"),
        ("print([h(torch.zeros(1), 300_000).item() for _ in range(3)])", "[1.0, 1.0, 1.0]"),
        (
            "threading.stack_size(256 * 1024); thread = threading.Thread(target=show); thread.start(); thread.join()",
            "[20.0, 20000.0, 20000.0, 3.0]",
        ),
    ],
    ids=["calls", "attributes", "lists", "thread with a small stack"],
)
def test_deep_recursion(what: str, expected: str) -> None:
    run = subprocess.run([sys.executable, "-c", PROGRAM.replace("{what}", what)], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr[-2000:]
    assert run.stdout.strip() == expected


BESIDE_A_SMALL_STACK = """
import threading

import torch

import minidynamo

x = torch.ones(2)
written = []


def callback(n):
    written.append(n)
    return n + 1


@minidynamo.optimize("eager")
def g(x, n):
    return x + n


def work(stop):
    def add(n):
        return n + 1

    while not stop.is_set():
        assert g(x, add(1))[0] == 3


minidynamo.optimize("eager")(lambda x: x + sum(map(callback, [1, 2])))(x)
g(x, 2)
for size in (256, 512):
    threading.stack_size(size * 1024)
    stop = threading.Event()
    thread = threading.Thread(target=work, args=(stop,))
    thread.start()
    wrong = 0
    for _ in range(150):
        written.clear()
        result = minidynamo.optimize("eager")(lambda x: x + sum(map(callback, [1, 2])))(x)
        wrong += written != [1, 2] or result[0].item() != 6
    stop.set()
    thread.join()
    print(wrong)
"""


def test_a_small_stack_disturbs_no_other_thread() -> None:
    run = subprocess.run([sys.executable, "-c", BESIDE_A_SMALL_STACK], capture_output=True, text=True, timeout=300)
    assert (run.returncode, run.stdout, run.stderr) == (0, "0\n0\n", "")


TO_THE_LIMIT = """
import sys


def check(fine):
    if not fine:
        raise AssertionError


def recursive(depth, limit):
    if depth < limit:
        check(depth == depth)
        recursive(depth + 1, limit)


for limit in (30, 60):
    sys.setrecursionlimit(limit)
    try:
        recursive(2, limit)  # below the module
    finally:
        sys.setrecursionlimit(1000)
    print("reached")
"""


@pytest.mark.skipif(sys.version_info < (3, 12), reason="CPython 3.11 counts its own C calls, and makes them where code is new")
@pytest.mark.parametrize("breaks", ["0", "2", "5"])
def test_all_levels_up_to_the_limit_are_the_programs(breaks: str) -> None:
    """Residual code and the end of a frame that the hook has answered take none."""
    stress = {"MINIDYNAMO": "1", "MINIDYNAMO_BACKEND": "eager", "MINIDYNAMO_STRESS": "1", "MINIDYNAMO_STRESS_BREAKS": breaks}
    run = subprocess.run(
        [sys.executable, "-c", TO_THE_LIMIT], env={**os.environ, **stress}, capture_output=True, text=True, timeout=300
    )
    assert (run.returncode, run.stdout) == (0, "reached\nreached\n"), run.stderr
