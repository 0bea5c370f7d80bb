"""Ctrl-C and its like while a graph runs: the program's handlers around the place where it stood see them."""

import contextlib
import itertools
import traceback

import pytest
import torch

import minidynamo


class Interrupter:
    """Interrupts at one of a program's points, or, where it is captured, in the graph that runs next."""

    def __init__(self, at, eager):
        self.left, self.eager = at, eager
        self.interrupts = self.has_interrupted = False

    def come(self):
        if self.interrupts:
            self.interrupts, self.has_interrupted = False, True
            raise KeyboardInterrupt

    @minidynamo.disable
    def point(self):
        self.left -= 1
        self.interrupts = self.left == 0
        if self.eager:
            self.come()

    def backend(self, graph_module, example_inputs):
        def run(*arguments):
            if not self.eager:
                self.come()
            return graph_module.forward(*arguments)

        return run


def _caught(x, log, point):
    log.append("first")
    try:
        x = x * 2
        point()
        x = x + 1
        log.append("second")
        point()
        return x * 3
    except KeyboardInterrupt as interrupt:
        log.append(type(interrupt).__name__)
        return x
    finally:
        log.append("finally")


def _with_block_in_loop(x, log, point):
    total = 0
    for number in [1, 2, 3]:
        with noted(log):
            total = total + x * number
            point()
            total = total + 1
    return total


def _swallowed(x, log, point):
    for number in [1, 2, 3]:
        with contextlib.suppress(KeyboardInterrupt):
            x = x + number
            point()
            x = x * 2
            log.append(number)
    return x


def _in_handler(x, log, point):
    try:
        [][len(log)]
    except IndexError as error:
        try:
            x = x * 2
            point()
            x = x + 1
        except KeyboardInterrupt as interrupt:
            log.append((type(interrupt).__name__, str(error)))
        log.append(str(error))
        point()
        return x * 3


def _callee(x, log, point):
    with noted(log):
        x = x * 2
        point()
        return x + 1


def _in_callee(x, log, point):
    try:
        y = _callee(x, log, point)
        log.append("back")
        return y * 2, sorted([3, len(log)])
    except KeyboardInterrupt:
        return "caught", _callee(x, log, lambda: None)


def _cells(x, log, point):
    count = 0

    def add(number):
        nonlocal count
        count += number
        return count

    try:
        x = x * add(1)
        point()
        x = x * add(2)
        return x + count
    except KeyboardInterrupt:
        add(10)
        return count, x


@contextlib.contextmanager
def noted(log):
    log.append("in")
    try:
        yield
    except KeyboardInterrupt:
        log.append("interrupted")
        raise
    finally:
        log.append("out")


@pytest.mark.parametrize("program", [_caught, _with_block_in_loop, _swallowed, _in_handler, _in_callee, _cells])
def test_an_interruption_of_a_graph_comes_where_the_program_stood(program):
    """A graph begins where the program stood after a break, so that is where Ctrl-C comes: handlers around it see it."""

    def outcome(at, eager, warm):
        interrupter = Interrupter(at, eager)
        function = program if eager else minidynamo.compile(program, backend=interrupter.backend)
        if warm:  # the entries are there
            interrupter.left = 0
            function(torch.ones(2), [], interrupter.point)
            interrupter.left = at
        log = []
        try:
            result = function(torch.ones(2), log, interrupter.point)
        except KeyboardInterrupt as interrupt:
            lines = [line.lineno for line in traceback.extract_tb(interrupt.__traceback__) if line.name == program.__name__]
            result = "interrupted", lines
        return str(result), log, interrupter.has_interrupted

    for at in itertools.count(1):
        expected = outcome(at, True, False)
        for warm in (False, True):
            assert outcome(at, False, warm) == expected, (at, warm)
        if not expected[-1]:
            break
