"""Every program of the corpus with a graph break before each of its instructions, at any depth of calls.

`config.force_break_at = n` breaks the n-th instruction of every trace. pytest takes a few n of each program, others at each
distance; all of them (some 40,000 runs, four minutes):

    MINIDYNAMO_FULL=1 python -m pytest tests/python/breaks/test_forced_breaks.py
"""

import os
import pathlib

import differential
import pytest

import minidynamo

PATHS = differential.PROGRAMS
STRIDE = 1 if os.environ.get("MINIDYNAMO_FULL") else 41
LAST = 4000

EXEMPT = {
    "frame_line_after_reraise": "asks where a frame of a traceback stands now; behind a break another frame goes on",
    "break_stack_inspected": "asks for the names of frames; a resume function has its own",
    "mode_autocast_module": "the cache of casts ends with each graph, so that low-precision gradients are summed otherwise",
}


def was_forced() -> bool:
    records = minidynamo.debug.graph_breaks() + minidynamo.debug.uncaptured()
    return any(record.reason == "forced" for record in records)


def check_with_break(path: pathlib.Path, number: int, expected: differential.Observation) -> None:
    minidynamo.reset()
    with minidynamo.config.patch(force_break_at=number):
        actual = differential.observe(path, lambda target: minidynamo.compile(target, backend="eager"))
    different = differential.differences(expected, actual, exact=True)
    assert not different, f"with a break at instruction {number}:\n" + "\n".join(different)


@pytest.mark.parametrize("path", [path for path in PATHS if path.stem not in EXEMPT], ids=lambda path: path.stem)
def test_break_at_every_instruction(path: pathlib.Path) -> None:
    expected = differential.observe(path, lambda target: target)
    first = 2 + PATHS.index(path) % STRIDE
    for number in range(first, LAST, STRIDE):
        check_with_break(path, number, expected)
        if not was_forced():
            return


def test_end_of_an_object_in_a_capture_that_is_made_twice() -> None:
    """A generator ends where another takes its place, also where the frame is traced with dynamic numbers and with given ones."""
    [path] = [path for path in PATHS if path.stem == "break_generator_overwritten"]
    check_with_break(path, 50, differential.observe(path, lambda target: target))
