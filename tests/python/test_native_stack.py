"""Recursion as deep as the program wants it: with a frame hook every Python call takes some of the C stack."""

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
        (
            "threading.stack_size(256 * 1024); thread = threading.Thread(target=show); thread.start(); thread.join()",
            "[20.0, 20000.0, 20000.0, 3.0]",
        ),
    ],
    ids=["calls", "attributes", "thread with a small stack"],
)
def test_deep_recursion(what: str, expected: str) -> None:
    run = subprocess.run([sys.executable, "-c", PROGRAM.replace("{what}", what)], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr[-2000:]
    assert run.stdout.strip() == expected
