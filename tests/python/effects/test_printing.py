"""A captured function prints once a call, in the program's order, whatever stands in the place of sys.stdout."""

import codecs
import contextlib
import io
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import minidynamo
from minidynamo import debug

X = torch.tensor([1.0, 2.0])


def says(x: torch.Tensor) -> torch.Tensor:
    print("first", x.shape, end=";")
    y = x * 2
    print("second", y)
    return y + 1


@contextlib.contextmanager
def standing_for_stdout(stream: Any) -> Iterator[None]:
    """sys.stdout is the very object, which need not be a stream."""
    kept = sys.stdout
    sys.stdout = stream
    try:
        yield
    finally:
        sys.stdout = kept


def said(call: Callable[[], Any]) -> str:
    stream = io.StringIO()
    with standing_for_stdout(stream):
        call()
    return stream.getvalue()


def captured_whole(function: Callable[..., Any]) -> Any:
    return minidynamo.optimize("eager", fullgraph=True)(function)


class Wrapper(io.TextIOWrapper):
    """As test runners make one: a stream of C code, of a class of Python's."""


class Lines:
    def __init__(self) -> None:
        self.pieces: list[str] = []

    def write(self, text: str) -> None:
        self.pieces.append(text)


def test_one_entry_prints_at_each_call() -> None:
    whole = captured_whole(says)
    assert [said(lambda: whole(X)) for _ in range(3)] == [said(lambda: says(X))] * 3
    assert minidynamo.stats()["graphs"] == 1 and len(debug.cache_entries(says)) == 1


def test_nothing_is_printed_while_tracing() -> None:
    def backend(graph_module: torch.fx.GraphModule, inputs: list[Any]) -> Any:
        assert stream.getvalue() == ""
        return graph_module.forward

    stream = io.StringIO()
    with standing_for_stdout(stream):
        minidynamo.optimize(backend, fullgraph=True)(says)(X)
    assert stream.getvalue() == said(lambda: says(X))


def test_other_streams_get_what_is_printed_to_them() -> None:
    whole = minidynamo.optimize("eager")(says)
    expected = said(lambda: says(X))
    assert said(lambda: whole(X)) == expected
    raw = io.BytesIO()
    wrapper = Wrapper(raw, "utf-8", write_through=True)
    with standing_for_stdout(wrapper):
        whole(X)
    assert raw.getvalue().decode() == expected
    lines = Lines()
    with standing_for_stdout(lines):
        says(X)
        eager = lines.pieces.copy()
        with contextlib.suppress(minidynamo.Unsupported):
            whole(X)
    assert lines.pieces == eager * 2
    with standing_for_stdout(None):
        whole(X)
    assert said(lambda: whole(X)) == expected


def test_there_is_no_stdout() -> None:
    whole = minidynamo.optimize("eager")(says)
    whole(X)
    kept = sys.stdout
    del sys.stdout
    try:
        with pytest.raises(RuntimeError, match="lost sys"):
            whole(X)
    finally:
        sys.stdout = kept


def test_a_write_that_the_program_put_into_a_stream_is_called() -> None:
    def writes(x: torch.Tensor) -> Any:
        count = sys.stdout.write("text")
        sys.stdout.flush()
        print("printed")
        return x + count

    pieces: list[str] = []
    stream = Wrapper(io.BytesIO(), "utf-8")
    whole = minidynamo.optimize("eager")(writes)
    with standing_for_stdout(stream):
        assert torch.equal(whole(X), X + 4) and len(minidynamo.debug.graph_breaks()) == 0
        stream.write = lambda text: pieces.append(text) or 7  # type: ignore[method-assign, assignment, func-returns-value]
        assert torch.equal(whole(X), X + 7)
    assert pieces == ["text", "printed", "\n"]


def test_the_program_sees_what_it_wrote() -> None:
    def f(x: torch.Tensor, lines: Lines, stream: io.StringIO) -> Any:
        print("a", file=lines)
        print("b", file=stream)
        return x * len(lines.pieces), stream.getvalue()

    for captured in (f, minidynamo.optimize("eager")(f)):
        result, text = captured(X, Lines(), io.StringIO())
        assert torch.equal(result, X * 2) and text == "b\n"


def test_a_print_that_fails_comes_between_other_effects() -> None:
    def f(x: torch.Tensor, seen: Any) -> torch.Tensor:
        seen.first = 1
        print("to", x.shape, file=stream)
        seen.second = 2
        return x + 1

    class Seen:
        pass

    stream = open("/dev/null", "w")  # noqa: SIM115 -- it is closed while it is in use
    captured = minidynamo.optimize("eager")(f)
    captured(X, Seen())
    stream.close()
    seen = Seen()
    with pytest.raises(ValueError, match="closed file"):
        captured(X, seen)
    assert vars(seen) == {"first": 1}


def test_an_error_of_the_stream_may_be_handled() -> None:
    def f(x: torch.Tensor, text: str) -> Any:
        try:
            print(text)
        except UnicodeEncodeError:
            return x - 1
        return x + 1

    captured = minidynamo.optimize("eager")(f)
    raw = io.BytesIO()
    stream = Wrapper(raw, "ascii", write_through=True)
    with standing_for_stdout(stream):
        assert torch.equal(captured(X, "plain"), X + 1)
        assert torch.equal(captured(X, "\N{EURO SIGN}"), X - 1)
    assert raw.getvalue() == b"plain\n"


def test_texts_of_a_cached_function_come_when_it_runs() -> None:
    import functools

    @functools.lru_cache
    def scale(n: int) -> int:
        print("computed", n)
        return n * 2

    def f(x: torch.Tensor) -> torch.Tensor:
        print("before")
        return x * scale(3)

    captured = minidynamo.optimize("eager")(f)
    assert said(lambda: captured(X)) == "before\ncomputed 3\n"
    assert said(lambda: captured(X)) == "before\n"
    scale.cache_clear()
    assert said(lambda: captured(X)) == "before\ncomputed 3\n"


def test_a_size_that_is_left_open_is_printed() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        print(x.shape, x.shape[0], tuple(x.shape))
        return x + 1

    captured = captured_whole(f)
    for size in (2, 3, 4, 5):
        assert said(lambda size=size: captured(torch.ones(size))) == said(lambda size=size: f(torch.ones(size)))
    assert len(debug.cache_entries(f)) == 2


def test_a_checkpoint_prints_each_time_it_runs() -> None:
    def inner(x: torch.Tensor) -> torch.Tensor:
        print("inside")
        return x.sin()

    def f(x: torch.Tensor) -> torch.Tensor:
        return torch.utils.checkpoint.checkpoint(inner, x, use_reentrant=False)  # type: ignore[no-any-return]

    def run(function: Callable[..., torch.Tensor]) -> None:
        function(X.clone().requires_grad_()).sum().backward()

    assert said(lambda: run(minidynamo.optimize("eager")(f))) == said(lambda: run(f)) == "inside\n" * 2


class Pieces:
    """The program's own end of a stream."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []

    def write(self, piece: bytes) -> int:
        self.pieces.append(bytes(piece))
        return len(piece)


class RawPieces(io.RawIOBase):
    def __init__(self) -> None:
        self.pieces: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, piece: Any) -> int:
        self.pieces.append(bytes(piece))
        return len(piece)


def stream_over_method() -> tuple[Any, Any]:
    end, buffer = Pieces(), io.BufferedIOBase()
    buffer.writable = lambda: True  # type: ignore[method-assign]
    buffer.write = end.write  # type: ignore[method-assign, assignment]
    return io.TextIOWrapper(buffer, "utf-8", write_through=True), end  # type: ignore[type-var]


def stream_over_class() -> tuple[Any, Any]:
    end = RawPieces()
    return io.TextIOWrapper(io.BufferedWriter(end), "utf-8"), end


def stream_over_replaced_write() -> tuple[Any, Any]:
    end, buffer = Pieces(), io.BytesIO()
    buffer.write = end.write  # type: ignore[method-assign, assignment]
    return io.TextIOWrapper(buffer, "utf-8", write_through=True), end


@pytest.mark.parametrize("prints", [False, True])
@pytest.mark.parametrize("make", [stream_over_method, stream_over_class, stream_over_replaced_write])
def test_an_end_of_a_stream_that_is_the_programs_sees_writes_at_their_place(make: Any, prints: bool) -> None:
    def f(stream: Any, end: Any) -> list[int]:
        counts = []
        for _ in range(2):
            if prints:
                print("abc", file=stream, flush=True)
            else:
                stream.write("abc")
                stream.flush()
            counts.append(len(end.pieces))
        return counts

    compiled = minidynamo.compile(f, backend="eager")
    in_memory = io.TextIOWrapper(io.BytesIO(), "utf-8")
    compiled(in_memory, Pieces())  # whose entry is no other stream's
    for _ in range(2):
        expected, given = make(), make()
        assert compiled(*given) == f(*expected)
        assert given[1].pieces == expected[1].pieces
    for stream in (in_memory, expected[0], given[0]):
        stream.detach()


def says_and_catches(x: torch.Tensor) -> Any:
    try:
        print("said")
    except (ValueError, TypeError, OSError) as error:
        return x + 1, type(error).__name__
    return x + 1, "said"


def closed() -> io.TextIOWrapper:
    stream = io.TextIOWrapper(io.BytesIO())
    stream.close()
    return stream


def unread_pipe() -> io.TextIOWrapper:
    read, write = os.pipe()
    os.close(read)
    return open(write, "w", buffering=1)


def of_no_text_encoding() -> io.TextIOWrapper:
    codec = codecs.lookup("rot13")
    codec._is_text_encoding = True
    try:
        return io.TextIOWrapper(io.BytesIO(), encoding="rot13")
    finally:
        codec._is_text_encoding = False


@pytest.mark.parametrize("stream", [closed, unread_pipe, of_no_text_encoding, io.BytesIO, io.StringIO])
def test_the_program_catches_what_a_stream_raises(stream: Callable[[], Any]) -> None:
    captured = minidynamo.compile(says_and_catches, backend="eager")
    with standing_for_stdout(io.StringIO()):
        assert captured(X)[1] == "said"
    results = []
    for function in (says_and_catches, captured):
        with standing_for_stdout(stream()):
            results += [function(X)[1] for _ in range(2)]
        with contextlib.suppress(OSError):
            sys.stdout.flush()
    assert results[:2] == results[2:]


def test_a_stream_that_is_closed_between_two_calls() -> None:
    captured = minidynamo.compile(says_and_catches, backend="eager")
    with standing_for_stdout(io.TextIOWrapper(io.BytesIO())):
        assert captured(X)[1] == "said"
        sys.stdout.close()
        assert captured(X)[1] == "ValueError"
