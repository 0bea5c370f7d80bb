"""Warnings that users get without asking: recompile limits, functions that run uncaptured, wrong environment variables."""

import logging
import pathlib
import re
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
from environments import run_python

import minidynamo
from minidynamo import config
from minidynamo._api import environment

X = torch.ones(2)
LIMIT = 2


@pytest.fixture
def warnings(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """The warnings that were logged since the last call."""
    caplog.set_level(logging.WARNING, "minidynamo")

    def taken() -> list[str]:
        texts = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
        caplog.clear()
        return texts

    return taken


def call_all(f: Any, calls: list[tuple[Any, ...]]) -> None:
    with config.patch(recompile_limit=LIMIT, automatic_dynamic_shapes=False):
        for arguments in calls:
            f(*arguments)


# The recompile limit


def test_limit_names_function_guard_values_and_advice(warnings: Callable[[], list[str]]) -> None:
    @minidynamo.optimize("eager")
    def scaled(x: torch.Tensor, n: int) -> torch.Tensor:
        return x * n

    line = scaled.__wrapped__.__code__.co_firstlineno  # type: ignore[attr-defined]  # the type of the function is kept
    call_all(scaled, [(X, 1), (X, 2)])
    assert warnings() == []
    call_all(scaled, [(X, 3), (X, 4), (X, 5)])
    (text,) = warnings()
    assert re.match(r"\[\d+\] minidynamo captures ", text)
    assert "scaled" in text and f"{__file__}:{line}" in text and "2 entries" in text
    first, second = (row for row in text.splitlines() if "expected" in row)
    assert "The last guard that failed: L['n']: expected 2, got 3" in first
    assert "L['n']: expected 1, got 3" in second
    assert "pass it as a tensor" in text
    assert "minidynamo.config.recompile_limit = 4" in text
    assert "MINIDYNAMO_LOGS=recompiles" in text


def test_limit_is_said_again_after_a_reset_and_of_every_code_object(warnings: Callable[[], list[str]]) -> None:
    def make() -> Any:
        namespace: dict[str, Any] = {}
        exec("def made(x, n):\n    return x * n", namespace)
        return minidynamo.optimize("eager")(namespace["made"])

    calls: list[tuple[Any, ...]] = [(X, 1), (X, 2), (X, 3)]
    f = make()
    call_all(f, calls)
    assert len(warnings()) == 1
    minidynamo.reset()
    call_all(f, calls)
    assert len(warnings()) == 1
    for _ in range(20):  # later code objects lie where dead ones lay
        call_all(make(), calls)
        assert len(warnings()) == 1


def test_limit_is_an_error_and_no_warning_under_fullgraph(warnings: Callable[[], list[str]]) -> None:
    f = minidynamo.optimize("eager", fullgraph=True)(lambda x, n: x * n)
    with pytest.raises(minidynamo.Unsupported, match="recompile limit"):
        call_all(f, [(X, 1), (X, 2), (X, 3)])
    assert warnings() == []


def test_limit_is_no_python_warning() -> None:
    """A program under -W error runs as without capture."""
    program = """
import torch, minidynamo
minidynamo.config.recompile_limit = 1
f = minidynamo.optimize("eager", dynamic=False)(lambda x, n: x * n)
print([f(torch.ones(1), n).item() for n in range(4)])
"""
    done = run_python(program, "-W", "error")
    assert done.returncode == 0 and done.stdout == "[0.0, 1.0, 2.0, 3.0]\n", done.stderr
    assert done.stderr.startswith("[0] minidynamo captures <lambda>")
    quiet = run_python("import logging; logging.getLogger('minidynamo').setLevel(logging.ERROR)" + program)
    assert quiet.stderr == ""


class Item:
    pass


def with_attribute(value: Any) -> Item:
    item = Item()
    item.value = value  # type: ignore[attr-defined]
    return item


ADVICE = {
    "Constant": (lambda x, n: x * n, [(X, 1), (X, 2), (X, 3)], [(X, torch.tensor(n)) for n in range(1, 4)]),
    "Tensor": (lambda x: x + 1, [(torch.ones(n),) for n in range(2, 5)], [(torch.ones(4),) for n in range(2, 5)]),
    "Identity": (lambda x, f: f(x), [(X, eval(f"lambda x: x + {n}")) for n in range(3)], [(X, torch.relu)] * 3),
    "ExactType": (lambda x, v: x + v[0], [(X, [X]), (X, (X,)), (X, {0: X})], [(X, list(v)) for v in ([X], (X,), [X])]),
    "Length": (lambda x, v: x + sum(v), [(X, [X] * n) for n in range(3)], [(X, [X, X, X])] * 3),
    "DictKeys": (
        lambda x, d: x + sum(d.values()),
        [(X, {"a": X}), (X, {"b": X}), (X, {"c": X})],
        [(X, {"a": X, "b": X}) for _ in range(3)],
    ),
}


@pytest.mark.parametrize("kind", ADVICE)
def test_advice_helps(kind: str, warnings: Callable[[], list[str]]) -> None:
    """The calls meet the limit; made as the advice says, they do not."""
    function, calls, better = ADVICE[kind]
    from minidynamo._records import breaks

    call_all(minidynamo.optimize("eager")(function), calls)
    (text,) = warnings()
    assert f"  * {breaks.ADVICE_BY_GUARD[kind]}" in text, text
    minidynamo.reset()
    call_all(minidynamo.optimize("eager")(function), better)
    assert warnings() == []


def test_every_kind_of_guard_has_advice() -> None:
    from minidynamo._records import breaks

    header = (pathlib.Path(__file__).parents[3] / "csrc" / "guard" / "source.h").read_text()
    (body,) = re.findall(r"enum class GuardKind : uint8_t \{(.*?)\};", header, re.DOTALL)
    kinds = set(re.findall(r"^\s*(\w+),?", re.sub("//.*", "", body), re.MULTILINE))
    assert len(kinds) > 10
    assert kinds - {"DistinctTensors"} == set(breaks.ADVICE_BY_GUARD) - {""}


# Functions that run uncaptured


def test_an_optimized_function_that_runs_uncaptured_is_named_once(warnings: Callable[[], list[str]]) -> None:
    @minidynamo.optimize("eager")
    def numbers(x: torch.Tensor) -> Any:
        yield x

    for _ in range(3):
        list(numbers(X))
    (text,) = warnings()
    assert text.startswith("minidynamo runs ") and "numbers uncaptured" in text and "[generator]" in text
    assert f"at {__file__}:" in text


def test_a_long_capture_says_where_it_is(warnings: Callable[[], list[str]]) -> None:
    def unrolled(x: torch.Tensor) -> torch.Tensor:
        for _ in range(2000):
            x = x + 1
        return x

    with config.patch(progress_interval=0.0):
        assert torch.equal(minidynamo.optimize("eager", fullgraph=True)(unrolled)(X), X + 2000)
    texts = warnings()
    line = unrolled.__code__.co_firstlineno
    places = rf"{re.escape(__file__)}:({line + 1}|{line + 2}) in .*unrolled, with \d+ nodes in the graph"
    said = rf"^\[\d+/0\] minidynamo has been capturing .*unrolled for 0 s: it is at {places}$"
    assert texts and all(re.search(said, text) for text in texts)
    minidynamo.reset()
    minidynamo.optimize("eager")(unrolled)(X)
    assert warnings() == []


def test_a_function_that_was_captured_and_no_more_is_named_once(warnings: Callable[[], list[str]]) -> None:
    def helper(x: torch.Tensor, depth: int) -> Any:
        return x * sys._getframe(depth).f_lineno if depth else x + 1

    f = minidynamo.optimize("eager")(helper)
    f(X, 0)
    assert warnings() == []
    f(X, 1)
    f(X, 2)
    (text,) = warnings()
    assert "helper uncaptured from now on, except where 1 earlier entry fits: " in text
    assert "[frame-introspection]" in text and "return x * sys._getframe(depth).f_lineno if depth else x + 1" in text


def test_a_frame_of_a_whole_program_that_was_captured_and_no_more_is_named_once(warnings: Callable[[], list[str]]) -> None:
    from minidynamo._api import global_capture

    def helper(x: torch.Tensor, depth: int) -> Any:
        return x * sys._getframe(depth).f_lineno if depth else x + 1

    global_capture.start("eager")
    try:
        for depth in (0, 0, 1, 2):
            helper(X, depth)
    finally:
        global_capture.stop()
    (text,) = warnings()
    assert "helper uncaptured from now on" in text


@pytest.mark.parametrize("how", ["disable", "graph break", "log"])
def test_what_the_user_asked_for_is_no_news(how: str, warnings: Callable[[], list[str]]) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        if how == "graph break":
            minidynamo.graph_break()
        return x + 1

    if how == "disable":
        f = minidynamo.disable(f, recursive=False)
    topics = "breaks" if how == "log" else ""
    with config.patch(logs=topics):
        minidynamo.optimize("eager")(f)(X)
        if how == "log":
            list(minidynamo.optimize("eager")(lambda x: (yield x))(X))
    assert warnings() == []


def test_frames_that_nobody_asked_for_are_the_logs(warnings: Callable[[], list[str]]) -> None:
    from minidynamo._api import global_capture

    def unknown(x: torch.Tensor, depth: int) -> Any:
        return x * sys._getframe(depth).f_lineno

    global_capture.start("eager")
    try:
        unknown(X, 1)
    finally:
        global_capture.stop()
    assert [record.reason for record in minidynamo.debug.uncaptured() if "unknown" in record.frame] == ["frame-introspection"]
    assert warnings() == []


# The environment


@pytest.mark.parametrize(
    "variable, value, said, setting",
    [
        ("MINIDYNAMO_LOGS", "grahp,guards", "'grahp' is ignored, the rest is used: it has unknown topics grahp (did you mean graph?)",
         "logs=frozenset({'guards'})"),
        ("MINIDYNAMO_LOGS", "nonsense", "known are captures, breaks, recompiles, graph, guards, dynamic, code", "logs=frozenset()"),
        ("MINIDYNAMO_SKIP", "json,not a name,re", "'not a name' is ignored", "skip=('json', 're')"),
        ("MINIDYNAMO_STRESS_BREAKS", "five", "BREAKS=five is ignored, and 0 used: it must be a number", "stress_breaks=0"),
        ("MINIDYNAMO_STRESS_BREAKS", "-3", "MINIDYNAMO_STRESS_BREAKS=-3 is ignored", "stress_breaks=0"),
        ("MINIDYNAMO_STRESS_SEED", "9" * 40, "is ignored, and 0 used", "stress_seed=0"),
    ],
)  # fmt: skip
def test_wrong_values_are_said_and_nothing_fails(variable: str, value: str, said: str, setting: str) -> None:
    name = setting.partition("=")[0]
    program = f"import minidynamo; print('{name}=' + repr(minidynamo.config.{name}))"
    done = run_python(program, "-W", "error", **{variable: value})
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == setting
    (line,) = done.stderr.splitlines()
    assert variable in line and said in line


def test_an_unknown_variable_names_the_nearest() -> None:
    done = run_python("import minidynamo", MINIDYNAMO_LOG="graph", MINIDYNAMO_XYZZY="1", MINIDYNAMO_FULL="1", MINIDYNAMO_LOGS="graph")
    assert done.returncode == 0
    near, unknown = done.stderr.splitlines()
    assert "MINIDYNAMO_LOG is unknown and ignored by minidynamo (did you mean MINIDYNAMO_LOGS?)" in near
    assert "MINIDYNAMO_XYZZY is unknown and ignored by minidynamo; known are MINIDYNAMO, " in unknown


def test_every_variable_that_the_code_reads_is_known() -> None:
    root = pathlib.Path(__file__).parents[3]
    files = [path for folder in ("minidynamo", "startup", "scripts", "tests", "bench") for path in (root / folder).rglob("*")]
    read = re.compile(r"(?:environ|getenv|is_switched_on|read|read_list)\W[^\n]{0,20}?\"(MINIDYNAMO\w*)\"|\$\{?(MINIDYNAMO\w*)")
    found = {
        (first or second, path.name)
        for path in files
        if path.suffix in (".py", ".pth", ".sh", ".cpp", "") and path.is_file() and path.name != pathlib.Path(__file__).name
        for first, second in read.findall(path.read_text())
    }
    assert {"MINIDYNAMO", "MINIDYNAMO_BACKEND", "MINIDYNAMO_LOGS", "MINIDYNAMO_VENV", "MINIDYNAMO_PYTHON"} <= {name for name, _ in found}
    unknown = {pair for pair in found if pair[0] not in environment.VARIABLES and pair[0] not in environment.OF_DEVELOPERS}
    assert unknown == set()


def test_a_misspelt_setting_names_the_nearest() -> None:
    with pytest.raises(AttributeError, match=r"no setting 'recompile_limits' \(did you mean recompile_limit\?\)"):
        config.recompile_limits = 3  # type: ignore[attr-defined]
