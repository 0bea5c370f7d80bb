"""Text that depends on what the process has set up elsewhere: locales, codecs, handlers of errors."""

import codecs
import datetime
import locale
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import minidynamo

Function = Callable[..., Any]


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    minidynamo.reset()
    before = locale.setlocale(locale.LC_NUMERIC)
    yield
    locale.setlocale(locale.LC_NUMERIC, before)


def in_format_string(x: torch.Tensor, value: Any) -> Any:
    return x + 1, f"{value:n}"


def by_format(x: torch.Tensor, value: Any) -> Any:
    return x + 1, format(value, "n"), format(value, "+n")


def by_method(x: torch.Tensor, value: Any) -> Any:
    return x + 1, "{:n}".format(value), "{0:{1}}".format(value, "n"), "{v:n}".format_map({"v": value})  # noqa: UP032


def by_special_method(x: torch.Tensor, value: Any) -> Any:
    return x + 1, value.__format__("n"), list(map(format, [value], ["n"]))


def other_locale() -> str | None:
    """One whose numbers differ from those of C, if the machine has it."""
    for name in ("de_DE.UTF-8", "de_DE", "fr_FR.UTF-8", "en_US.UTF-8", "C.UTF-8", "C.utf8", "POSIX"):
        try:
            locale.setlocale(locale.LC_NUMERIC, name)
        except locale.Error:
            continue
        return name
    return None


@pytest.mark.parametrize("value", [1234567, 1234567.25, 3 + 4j], ids=repr)
@pytest.mark.parametrize("function", [in_format_string, by_format, by_method, by_special_method], ids=lambda f: f.__name__)
def test_numbers_are_guarded_by_the_locale(function: Function, value: Any) -> None:
    captured = minidynamo.compile(function, backend="eager", fullgraph=True)
    x = torch.ones(2)
    locale.setlocale(locale.LC_NUMERIC, "C")
    assert captured(x, value)[1:] == function(x, value)[1:]
    assert captured(x, value)[1:] == function(x, value)[1:]
    (entry,) = minidynamo.debug.cache_entries(captured)
    assert entry.hits == 1 and "LC_NUMERIC" in str(entry.guards)
    if other_locale():
        assert captured(x, value)[1:] == function(x, value)[1:]
        assert len(minidynamo.debug.cache_entries(captured)) == 2


def test_other_formats_ask_for_no_locale() -> None:
    def function(x: torch.Tensor, value: float) -> Any:
        return x + 1, f"{value:.2f} {value:>10} {value!r:s}", f"{value:,}", "{:.1%} {}".format(value, "in"), format(int(value), "b")

    captured = minidynamo.compile(function, backend="eager", fullgraph=True)
    assert captured(torch.ones(2), 1234.5)[1:] == function(torch.ones(2), 1234.5)[1:]
    assert "LC_NUMERIC" not in str(minidynamo.debug.cache_entries(captured)[0].guards)


def breaks_of(function: Function, *arguments: Any) -> list[str]:
    captured = minidynamo.compile(function, backend="eager")
    for _ in range(2):
        assert captured(torch.ones(2), *arguments)[1:] == function(torch.ones(2), *arguments)[1:]
    return [each.reason for each in minidynamo.debug.graph_breaks()]


DAY, TIME = datetime.date(2020, 1, 31), datetime.datetime(2020, 1, 31, 12, 30)


@pytest.mark.parametrize(
    "make",
    [
        lambda: DAY.strftime("%A"),
        lambda: TIME.strftime("%x"),
        lambda: f"{DAY:%B}",
        lambda: format(TIME, "%c"),
        lambda: "{:%b}".format(DAY),  # noqa: UP032
        lambda: "{0.year:d} {0:%p}".format(TIME),  # noqa: UP032
        lambda: TIME.time().strftime("%p"),
        lambda: re.compile(rb"\w+", re.LOCALE).match(b"abc").group(),
    ],
)
def test_dates_by_the_locale_are_a_break(make: Callable[[], Any]) -> None:
    def function(x: torch.Tensor) -> Any:
        return x + 1, make()

    assert breaks_of(function) == ["text-convention"]


def test_dates_of_numbers_are_none() -> None:
    def function(x: torch.Tensor) -> Any:
        return x + 1, DAY.strftime("%Y-%m-%d"), f"{TIME:%H:%M}", f"{DAY}", DAY.isoformat(), "{:%d%%}".format(DAY)  # noqa: UP032

    assert breaks_of(function) == []


codecs.register(lambda name: codecs.lookup("latin-1") if name == "minidynamo_test" else None)
codecs.register_error("minidynamo_test", lambda error: ("?", error.end))


@pytest.mark.parametrize(
    "make",
    [
        lambda: "abc".encode("minidynamo_test"),
        lambda: b"abc".decode(encoding="minidynamo_test"),
        lambda: bytearray(b"abc").decode("minidynamo_test"),
        lambda: str(b"abc", "minidynamo_test"),
        lambda: bytes("abc", "minidynamo_test"),
        lambda: bytearray("abc", encoding="minidynamo_test"),
        lambda: "ab\xe9".encode("ascii", "minidynamo_test"),
        lambda: b"ab\xff".decode("utf-8", errors="minidynamo_test"),
        lambda: str(b"ab\xff", "utf-8", "minidynamo_test"),
        lambda: str(b"ab\xff", errors="minidynamo_test"),
        lambda: str.encode("abc", "minidynamo_test"),
        lambda: list(map(str.encode, ["abc"], ["minidynamo_test"])),
        lambda: "abc".encode("cp1252"),
    ],
)
def test_codecs_that_are_looked_up_are_a_break(make: Callable[[], Any]) -> None:
    def function(x: torch.Tensor) -> Any:
        return x + 1, make()

    assert breaks_of(function) == ["text-convention"]


def test_builtin_codecs_are_none() -> None:
    def function(x: torch.Tensor) -> Any:
        return (
            *(
                x + 1,
                "ab\xe9".encode(),
                "ab\xe9".encode("Latin-1"),
                "ab\xe9".encode("ascii", "replace"),
                b"ab\xff".decode("utf-8", "ignore"),
            ),
            *(str(b"abc", "ASCII"), bytes("ab", "utf-16"), bytearray("ab", "UTF_8"), str(b"a\xff", errors="backslashreplace")),
        )

    assert breaks_of(function) == []


def test_a_codec_that_becomes_another() -> None:
    """The registry is asked at each call."""
    kind = "latin-1"

    def search(name: str) -> codecs.CodecInfo | None:
        return codecs.lookup(kind) if name == "minidynamo_changing" else None

    def function(x: torch.Tensor) -> Any:
        return x + 1, "\xe9".encode("minidynamo_changing")

    captured = minidynamo.compile(function, backend="eager")
    for kind in ("latin-1", "utf-8", "utf-16-le"):
        codecs.register(search)
        try:
            assert captured(torch.ones(2))[1] == "\xe9".encode(kind)
        finally:
            codecs.unregister(search)


def test_the_advice() -> None:
    def function(x: torch.Tensor, value: int) -> Any:
        return x + 1, f"{value:,} {value:_}", DAY.isoformat(), "a".encode("utf-32")

    captured = minidynamo.compile(function, backend="eager", fullgraph=True)
    assert captured(torch.ones(2), 12345)[1:] == function(torch.ones(2), 12345)[1:]
