"""A backend's draws from the generators are undone; those of other threads of the program meanwhile are not."""

import random
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest
import torch

import minidynamo
from minidynamo import _C

Work = Callable[[], object]


def compile_with(work: Work) -> None:
    """Captures a function with a backend that does this meanwhile."""

    def backend(graph_module: torch.fx.GraphModule, example_inputs: list[torch.Tensor]) -> object:
        work()
        return graph_module.forward

    minidynamo.reset()
    minidynamo.compile(lambda x: x + 1, backend=backend)(torch.ones(2))


def draw() -> None:
    random.random()
    torch.rand(3)


@pytest.fixture
def neighbour() -> object:
    """A thread of the program's that was there before."""
    jobs: list[Work] = []
    given, done = threading.Semaphore(0), threading.Semaphore(0)

    def loop() -> None:
        while True:
            given.acquire()
            work = jobs.pop()
            if work is None:
                return
            work()
            done.release()

    def ask(work: Work) -> None:
        jobs.append(work)
        given.release()
        done.acquire()

    thread = threading.Thread(target=loop)
    thread.start()
    yield ask
    jobs.append(None)
    given.release()
    thread.join()


def test_its_own_numbers_are_undone() -> None:
    states = random.getstate(), torch.get_rng_state()
    compile_with(draw)
    assert random.getstate() == states[0] and torch.equal(torch.get_rng_state(), states[1])


def test_its_own_threads_are_undone() -> None:
    """Where the program has one thread, all others are the backend's."""
    program = """
import random, threading, torch, minidynamo

def draw():
    random.random(), torch.rand(3)

def backend(graph_module, example_inputs):
    thread = threading.Thread(target=draw)
    thread.start()
    thread.join()
    return graph_module.forward

states = random.getstate(), torch.get_rng_state()
minidynamo.compile(lambda x: x + 1, backend=backend)(torch.ones(2))
assert random.getstate() == states[0] and torch.equal(torch.get_rng_state(), states[1])
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_numbers_of_a_neighbour_stay_drawn(neighbour: Callable[[Work], None]) -> None:
    seen = []

    def draw_and_keep() -> None:
        seen.append((random.random(), torch.rand(3)))

    for _ in range(3):
        compile_with(lambda: neighbour(draw_and_keep))
    assert len({first for first, _ in seen}) == 3
    assert len({tuple(numbers.tolist()) for _, numbers in seen}) == 3


def test_a_neighbour_that_seeds(neighbour: Callable[[Work], None]) -> None:
    torch.rand(1)
    compile_with(lambda: neighbour(lambda: torch.manual_seed(7)))
    after = torch.rand(3)
    torch.manual_seed(7)
    assert torch.equal(after, torch.rand(3))


def test_a_neighbour_that_draws_nothing(neighbour: Callable[[Work], None]) -> None:
    state = torch.get_rng_state()
    compile_with(lambda: (neighbour(lambda: torch.ones(2) + 1), torch.rand(3)))
    assert torch.equal(torch.get_rng_state(), state)


def test_what_the_watch_tells(neighbour: Callable[[Work], None]) -> None:
    def watched(work: Work) -> tuple[bool, bool, bool, bool]:
        watch = _C.watch_random()
        work()
        return _C.end_random_watch(watch)

    assert watched(lambda: torch.dropout(torch.ones(2), 0.5, True))[2:] == (False, True)
    assert watched(lambda: neighbour(lambda: torch.randperm(3))) == (False, True, True, False)
    assert watched(lambda: neighbour(lambda: None)) == (False, True, False, False)
    outer = _C.watch_random()
    assert watched(lambda: torch.rand(1))[2:] == (False, True)
    neighbour(lambda: torch.rand(1))
    assert _C.end_random_watch(outer) == (False, True, True, True)
