"""A list from before the call to which a captured function only adds is read by no guard: one capture serves every length."""

import functools
import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch

import minidynamo


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)
        self.losses: list[Any] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        loss = self.linear(x).sum()
        self.losses.append(loss.detach())
        return loss


def test_a_model_that_keeps_its_losses() -> None:
    model = Model()
    captured = minidynamo.compile(model, backend="eager", fullgraph=True)
    inputs = [torch.randn(2, 3) for _ in range(20)]
    for x in inputs:
        captured(x)
    (entry,) = minidynamo.debug.cache_entries(Model.forward)
    assert not any("len(" in guard for guard in entry.guards if "losses" in guard)
    assert all(torch.equal(loss, model.linear(x).sum()) for loss, x in zip(model.losses, inputs, strict=True))


def in_place(rows: list[Any], x: torch.Tensor) -> None:
    rows += [x * 2]


ADDITIONS: dict[str, Callable[[list[Any], torch.Tensor], Any]] = {
    "append": lambda rows, x: rows.append(x * 2),
    "append of a tuple": lambda rows, x: rows.append((1, x * 2)),
    "extend": lambda rows, x: rows.extend([x, x * 2]),
    "extend by a tuple": lambda rows, x: rows.extend((x * 2, "a")),
    "in place": in_place,
    "unbound": lambda rows, x: list.append(rows, x * 2),
    "last item": lambda rows, x: (rows.append(x * 2), rows.append(3)),
}


@pytest.mark.parametrize("name", ADDITIONS)
def test_additions(name: str) -> None:
    add = ADDITIONS[name]

    def f(rows: list[Any], x: torch.Tensor) -> torch.Tensor:
        add(rows, x)
        return x + 1

    captured = minidynamo.optimize("eager", fullgraph=True)(f)
    rows, expected = [], []  # type: ignore[var-annotated]
    for _ in range(5):
        captured(rows, torch.ones(2))
        f(expected, torch.ones(2))
        assert str(rows) == str(expected)
    assert len(minidynamo.debug.cache_entries(f)) == 1


def test_a_list_that_is_too_large_to_be_read() -> None:
    def f(rows: list[Any], x: torch.Tensor) -> torch.Tensor:
        rows.append(x * 2)
        return x + len(rows)

    rows: list[Any] = [None] * 200_000
    captured = minidynamo.optimize("eager", fullgraph=True)(f)
    assert captured(rows, torch.zeros(1)).item() == 200_001
    assert torch.equal(rows[-1], torch.zeros(1))


def test_one_list_by_two_names() -> None:
    """A capture with two lists does not serve a call with one, where the other's length was read."""

    def f(written: list[int], read: list[int], x: torch.Tensor) -> torch.Tensor:
        written.append(1)
        return x + len(read)

    captured = minidynamo.optimize("eager", fullgraph=True)(f)
    assert captured([], [], torch.zeros(1)).item() == 0
    one: list[int] = []
    assert captured(one, one, torch.zeros(1)).item() == 1
    assert one == [1]


def test_an_iterator_from_before_the_call_meets_what_is_added() -> None:
    def f(rows: list[int], iterator: Any, x: torch.Tensor) -> Any:
        rows.append(3)
        return x + 1, list(iterator), rows

    for call in (f, minidynamo.optimize("eager")(f)):
        rows = [1, 2]
        assert call(rows, iter(rows), torch.zeros(1))[1:] == ([1, 2, 3], [1, 2, 3])


def test_additions_around_a_graph_break() -> None:
    shown = []

    @minidynamo.disable
    def show(rows: list[Any]) -> None:
        shown.append(list(rows))

    def f(rows: list[Any], x: torch.Tensor) -> Any:
        rows.append(1)
        show(rows)
        rows.append(len(rows))
        y = x + rows[-1]
        rows.append(y)
        return y, rows[0], rows

    captured = minidynamo.optimize("eager")(f)
    for rows in ([], [7], [7, 8], [1, 2, 3]):
        expected = list(rows)
        assert str(captured(rows, torch.zeros(1))) == str(f(expected, torch.zeros(1)))
        assert str(rows) == str(expected)
        assert shown[-1] == shown[-2]


def test_threads_that_add_to_one_list() -> None:
    """Without a lock, as CPython allows: an addition is one instruction there, and one call here."""
    rows: list[Any] = []

    def f(x: torch.Tensor, number: int) -> torch.Tensor:
        y = x * 2
        rows.append((number, y))
        return y

    captured = minidynamo.optimize("eager", fullgraph=True)(f)
    captured(torch.ones(2), 0)

    def work() -> None:
        for number in range(200):
            captured(torch.ones(2), number)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(number for number, _ in rows) == sorted([0, *list(range(200)) * 8])


def test_a_branch_and_a_cached_function_that_read_what_was_added() -> None:
    def f(rows: list[int], x: torch.Tensor) -> torch.Tensor:
        rows.append(2)
        rows.append(3)
        y = torch.cond(x.sum() > 0, lambda x: x + sum(rows), lambda x: x - len(rows), (x,))
        return y + summed(tuple(rows))

    summed = functools.lru_cache(sum)
    captured = minidynamo.optimize("eager", fullgraph=True)(f)
    for value, rows in ((1.0, []), (-1.0, []), (1.0, [5])):
        assert torch.equal(captured(list(rows), torch.full((1,), value)), f(list(rows), torch.full((1,), value)))
