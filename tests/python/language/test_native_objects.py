"""Objects whose state lies in C and that a captured function makes itself (locks, generators of random numbers, dates, texts that are
written to, small numpy arrays): used while tracing, made again in their state where they outlive the graph."""

import array
import datetime
import io
import random
import threading
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch
from one_graph import check_one_graph

import minidynamo

Function = Callable[[torch.Tensor], Any]
DAY = datetime.date(2024, 2, 29)
ZONED = datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.UTC)
LIMITS = numpy.array([1.0, 2.0])


class Guarded:
    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.items: list[int] = []

    def add(self, item: int) -> int:
        with self.lock:
            self.items.append(item)
            with self.lock:
                return sum(self.items)


def lock(x: torch.Tensor) -> Any:
    own = threading.Lock()
    with own:
        y = x * (2 + own.locked())
    return y + own.locked() + own.acquire(False)


def lock_in_object(x: torch.Tensor) -> Any:
    guarded = Guarded()
    return x * guarded.add(2) * guarded.add(3)


def events(x: torch.Tensor) -> Any:
    event = threading.Event()
    event.set()
    return x * event.is_set()


def seeded(x: torch.Tensor) -> Any:
    draw = random.Random(3)
    order = [1, 2, 3, 4]
    draw.shuffle(order)
    scale = draw.uniform(0, 1) + draw.randint(1, 6) + draw.choice([1, 2, 3]) + draw.gauss(0, 1)
    return x * scale * draw.sample(order, 2)[0]


def dates(x: torch.Tensor) -> Any:
    later = DAY + datetime.timedelta(days=1, hours=2)
    gap = (datetime.datetime(2024, 3, 1) - datetime.datetime(2024, 2, 29)).total_seconds()
    return x * later.day * gap * (later > DAY) * ZONED.hour, later, later.isoformat()


def texts(x: torch.Tensor) -> Any:
    text, data = io.StringIO(), io.BytesIO()
    text.write("ab\n")
    data.write(b"abc")
    return x * len(text.getvalue()) * len(data.getvalue())


def numbers(x: torch.Tensor) -> Any:
    return x * array.array("i", [1, 2, 3])[1]


def numpy_scalars(x: torch.Tensor) -> Any:
    size = int(numpy.prod([2, 3])) * int(numpy.prod(x.shape))
    return x * float(numpy.float32(3) * 2) * size * float(numpy.mean([1, 2, 3]))


def numpy_arrays(x: torch.Tensor) -> Any:
    rates = numpy.linspace(0, 1, 4)
    rates[0] = 0.5
    table = numpy.array([[1, 2], [3, 4]])
    total = int(table.sum()) + int(numpy.cumsum([1, 2, 3])[-1]) + int((table * 2).max()) + table.shape[0]
    return x * torch.tensor(rates.tolist()) * total + torch.from_numpy(numpy.arange(4.0).astype(numpy.float32))


PROGRAMS: list[Function] = [
    lock,
    lock_in_object,
    events,
    seeded,
    dates,
    texts,
    numbers,
    numpy_scalars,
    numpy_arrays,
]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_one_graph(function: Function, backend: str) -> None:
    check_one_graph(function, backend)


def make_held_lock() -> Any:
    made = threading.Lock()
    made.acquire()
    return made


def make_recursive() -> Any:
    made = threading.RLock()
    made.acquire()
    made.acquire()
    return made


def make_random() -> Any:
    made = random.Random(5)
    made.random()
    made.gauss(0, 1)
    return made


def make_text() -> Any:
    made = io.StringIO("abc")
    made.read(1)
    return made


def make_bytes() -> Any:
    made = io.BytesIO(b"abc")
    made.seek(2)
    return made


MADE: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "lock": (threading.Lock, lambda made: made.locked()),
    "held lock": (make_held_lock, lambda made: made.locked()),
    "recursive lock": (make_recursive, lambda made: [made.release(), made.release(), made.acquire(False)]),
    "random": (make_random, lambda made: [made.random(), made.gauss(0, 1), made.getrandbits(70)]),
    "text": (make_text, lambda made: [made.read(), made.getvalue()]),
    "bytes": (make_bytes, lambda made: [made.read(), made.getvalue()]),
    "array": (lambda: array.array("d", [1, 2]), lambda made: [made.typecode, made.tolist()]),
    "numpy": (lambda: numpy.arange(6).reshape(2, 3), lambda made: [made.tolist(), str(made.dtype), made.flags.writeable]),
    "date": (lambda: datetime.date(2020, 1, 2), repr),
    "zone": (lambda: datetime.timezone(datetime.timedelta(hours=1), "one"), repr),
}


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("cut", [False, True], ids=["returned", "behind a break"])
def test_state_outside_the_trace(name: str, cut: bool) -> None:
    make, show = MADE[name]

    def function(x: torch.Tensor) -> Any:
        made = make()
        y = x + 1
        if cut:
            minidynamo.graph_break()
        return y * 2, made

    captured = minidynamo.compile(function, backend="eager")
    x = torch.ones(2)
    first, second, eager = captured(x), captured(x), function(x)
    torch.testing.assert_close(first[0], eager[0])
    shown = show(eager[1])
    assert show(first[1]) == shown
    assert show(second[1]) == shown, "each call has its own"
    if name not in ("date", "zone"):
        assert first[1] is not second[1]


WITH_ADDRESS: dict[str, tuple[Callable[[], Any], Callable[[Any], int]]] = {
    "array": (lambda: array.array("d", [1, 2]), lambda made: made.buffer_info()[0]),
    "interface": (lambda: numpy.arange(2.0), lambda made: made.__array_interface__["data"][0]),
    "ctypes": (lambda: numpy.arange(2.0), lambda made: made.ctypes.data),
    "computed": (lambda: numpy.arange(2.0) + 1, lambda made: made.ctypes.data),
}


@pytest.mark.parametrize("name", WITH_ADDRESS)
def test_address_of_what_leaves(name: str) -> None:
    """Where the elements lie is asked of the object that the program has, not of the trace's own."""
    make, address = WITH_ADDRESS[name]

    def function(x: torch.Tensor) -> Any:
        made = make()
        y = x + 1
        found = address(made)
        made[0] = 3
        return y * 2, made, found

    captured = minidynamo.compile(function, backend="eager")
    held = []  # so that no memory is used twice
    for _ in range(3):
        held.append(captured(torch.ones(2)))
        assert held[-1][1].tolist()[0] == 3
        assert address(held[-1][1]) == held[-1][2]


def test_what_was_there_before_is_left_alone() -> None:
    outside = {"random": random.Random(1), "text": io.StringIO(), "lock": threading.Lock(), "array": array.array("i", [1])}

    def function(x: torch.Tensor) -> Any:
        y = x + outside["random"].random()
        outside["text"].write("a")
        with outside["lock"]:
            outside["array"].append(2)
        return y * 2

    expected_random = random.Random(1)
    captured = minidynamo.compile(function, backend="eager")
    for count in (1, 2, 3):
        torch.testing.assert_close(captured(torch.ones(2)), (torch.ones(2) + expected_random.random()) * 2)
        assert outside["text"].getvalue() == "a" * count
        assert outside["array"].tolist() == [1] + [2] * count
        assert not outside["lock"].locked()


@pytest.mark.parametrize("other", [DAY + datetime.timedelta(days=1), datetime.datetime(2024, 2, 29), ZONED.date()])
def test_dates_are_guarded_by_value(other: Any) -> None:
    def function(x: torch.Tensor, day: Any) -> Any:
        return x * day.day, type(day).__name__

    captured = minidynamo.compile(function, backend="eager", fullgraph=True)
    for day in (DAY, datetime.date(2024, 2, 29), other):
        assert captured(torch.ones(1), day)[1] == function(torch.ones(1), day)[1]
        torch.testing.assert_close(captured(torch.ones(1), day)[0], function(torch.ones(1), day)[0])
    assert len(minidynamo.debug.cache_entries(captured)) == (1 if other == DAY and type(other) is type(DAY) else 2)


def test_one_moment_in_two_zones_is_two_values() -> None:
    def function(x: torch.Tensor, moment: datetime.datetime) -> Any:
        return x * moment.hour

    captured = minidynamo.compile(function, backend="eager", fullgraph=True)
    for moment in (ZONED, ZONED.astimezone(datetime.timezone(datetime.timedelta(hours=3)))):
        torch.testing.assert_close(captured(torch.ones(1), moment), function(torch.ones(1), moment))


@pytest.mark.parametrize(
    "ask",
    [
        lambda: datetime.datetime.now().year,
        lambda: datetime.date.today().year,
        lambda: random.Random().random() < 2,
        lambda: random.random() < 2,
        lambda: numpy.random.rand() < 2,
    ],
)
def test_what_the_outside_decides_is_asked_at_every_call(ask: Callable[[], Any]) -> None:
    def function(x: torch.Tensor) -> Any:
        return x * ask()

    with pytest.raises(minidynamo.Unsupported):
        minidynamo.compile(function, backend="eager", fullgraph=True)(torch.ones(1))
    captured = minidynamo.compile(function, backend="eager")
    torch.testing.assert_close(captured(torch.ones(1)), function(torch.ones(1)))


def test_an_element_of_an_array_from_outside_is_read_at_every_call() -> None:
    def function(x: torch.Tensor) -> Any:
        return x * float(LIMITS[0])

    captured = minidynamo.compile(function, backend="eager", fullgraph=True)
    for LIMITS[0] in (1.0, 3.0, 1.0):
        torch.testing.assert_close(captured(torch.ones(1)), function(torch.ones(1)))
    assert len(minidynamo.debug.cache_entries(captured)) == 1


@pytest.mark.parametrize("through_a_view", [False, True])
@pytest.mark.parametrize("make", [torch.from_numpy, torch.as_tensor, torch.tensor])
def test_an_array_of_numpy_and_its_tensor_share_their_memory(make: Function, through_a_view: bool) -> None:
    def function(x: torch.Tensor) -> Any:
        values = numpy.arange(4.0)
        view = values[1:] if through_a_view else None
        tensor = make(values)
        (values if view is None else view)[0] = 7
        return x + tensor

    captured = minidynamo.compile(function, backend="eager")
    for _ in range(2):
        torch.testing.assert_close(captured(torch.ones(4)), function(torch.ones(4)))


def test_numpy_warns_at_every_call_as_it_does_eagerly() -> None:
    def function(x: torch.Tensor) -> Any:
        return x + float(numpy.divide(numpy.array([1.0]), 0.0)[0])

    captured = minidynamo.compile(function, backend="eager")
    for _ in range(2):
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            captured(torch.ones(1))


def test_a_lock_that_is_waited_for_is_waited_for_in_python() -> None:
    def function(x: torch.Tensor) -> Any:
        own = threading.Lock()
        own.acquire()
        y = x + own.acquire(timeout=0.01)
        return y * 2

    captured = minidynamo.compile(function, backend="eager")
    torch.testing.assert_close(captured(torch.ones(1)), function(torch.ones(1)))
