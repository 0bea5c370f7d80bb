"""Tuples with names that C code makes, whose further fields the length does not count: in, through and out of a capture."""

import datetime
import gc
import os
import time
from collections.abc import Callable
from typing import Any

import pytest
import torch

import minidynamo

NAMES = ("st_atime", "st_mtime", "st_ctime", "st_atime_ns", "st_mtime_ns", "st_ctime_ns", "st_blksize", "st_blocks", "st_rdev")


def stat_result(**further: Any) -> os.stat_result:
    return os.stat_result(range(10), dict.fromkeys(NAMES, 1) | further)


def further_fields(record: tuple[Any, ...]) -> list[Any]:
    return [getattr(record, name) for name in NAMES]


def test_one_from_native_code_leaves_with_its_further_fields() -> None:
    def f(day: datetime.date, x: torch.Tensor) -> tuple[Any, torch.Tensor]:
        return day.timetuple(), x + 1

    day = datetime.date(2005, 3, 2)
    for _ in range(2):
        record, value = minidynamo.compile(f, backend="eager", fullgraph=True)(day, torch.ones(2))
        assert record == day.timetuple() and value.tolist() == [2, 2]
        assert (record.tm_zone, record.tm_gmtoff) == (None, None)
        assert time.strftime("%Y %Z", record) == time.strftime("%Y %Z", day.timetuple())
        assert gc.is_tracked(record)


def test_one_goes_on_behind_a_break() -> None:
    def f(day: datetime.date, x: torch.Tensor) -> tuple[str, torch.Tensor]:
        record = day.timetuple()
        minidynamo.graph_break()
        return time.strftime("%Z %m", record), x + record.tm_mon

    day = datetime.date(2005, 3, 2)
    assert minidynamo.compile(f, backend="eager")(day, torch.ones(1)) == f(day, torch.ones(1))


def test_further_fields_are_guarded() -> None:
    def f(record: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 2 if record.st_blksize == 8 else x * 3

    captured = minidynamo.compile(f, backend="eager", fullgraph=True)
    x = torch.ones(1)
    assert [captured(stat_result(st_blksize=n), x).item() for n in (8, 9, 8)] == [2, 3, 2]


@pytest.mark.parametrize("read", [lambda r: r.st_atime_ns, lambda r: (r.st_atime_ns + 1, r)])
def test_a_tensor_in_a_further_field(read: Callable[[Any], Any]) -> None:
    record = stat_result(st_atime_ns=torch.ones(2), st_rdev="other")
    found = minidynamo.compile(read, backend="eager", fullgraph=True)(record)
    if isinstance(found, tuple):
        assert found[0].tolist() == [2, 2] and found[1] is record
    else:
        assert found is record.st_atime_ns


def test_a_tensor_among_the_elements_takes_the_further_fields_along() -> None:
    def f(record: Any) -> Any:
        return record, record.st_size + 1, record.st_blocks

    record = os.stat_result((0, 1, 2, 3, 4, 5, torch.ones(1), 7, 8, 9), dict.fromkeys(NAMES, "further"))
    same, size, blocks = minidynamo.compile(f, backend="eager", fullgraph=True)(record)
    assert same is record and size.item() == 2 and blocks == "further"


def test_one_made_in_the_trace() -> None:
    def f(x: torch.Tensor) -> Any:
        return os.stat_result(range(10), dict.fromkeys(NAMES, 1) | {"st_rdev": x + 1})

    record = minidynamo.compile(f, backend="eager")(torch.ones(1))
    assert further_fields(record)[:-1] == [1] * 8 and record.st_rdev.item() == 2
