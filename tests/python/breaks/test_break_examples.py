"""Each reason's example does what its page says: `before` meets this reason and no other, `after` is one graph with the same result.

The examples are programs of users, so they run from a folder of their own: code in the package's folder is never captured.
"""

import contextlib
import importlib.util
import io
import pathlib
import shutil
import subprocess
import sys
import tomllib
import types
from typing import Any

import pytest
import torch

import minidynamo
from minidynamo import debug
from minidynamo.__main__ import breaks, main
from minidynamo._records import break_pages

ROOT = pathlib.Path(__file__).parents[3]
CODES = [reason.code for reason in debug.break_reasons()]
FILES = sorted(break_pages.EXAMPLES.glob("*.py"))

# Reasons that no small program can meet, or not in each run.
WITHOUT_EXAMPLE = {
    "codegen": "a defect of minidynamo, none of which is known",
    "fake-input": "code that the trace runs, such as a fake implementation, must have kept a tensor of an earlier trace",
    "graph-export": "a defect of minidynamo, none of which is known",
    "guards-fail": "a defect of minidynamo, or another thread's write between the trace and the check",
    "internal": "a defect of minidynamo, none of which is known",
    "interrupted": "a signal must come during a trace, and wait for seconds",
    "not-worthwhile": "calls are timed, so the result depends on the machine",
    "out-of-memory": "an allocation must fail during a trace",
    "type-parameters": "the syntax is Python 3.12's, and the files must compile on 3.11",
}


def code_of(path: pathlib.Path) -> str:
    return path.stem.replace("_", "-")


def test_every_reason_has_an_example() -> None:
    assert [code_of(path) for path in FILES] == [code for code in CODES if code not in WITHOUT_EXAMPLE]
    assert set(WITHOUT_EXAMPLE) <= set(CODES)


def result_of(example: types.ModuleType, part: str, function: Any) -> tuple[Any, str]:
    """The result or exception of a part of an example, and what it writes to stdout."""
    call = getattr(example, f"call_{part}", lambda function, *inputs: function(*inputs))
    with contextlib.redirect_stdout(io.StringIO()) as out:
        try:
            result = call(function, *example.inputs())
        except Exception as error:
            result = error
    return result, out.getvalue()


def captured_result(example: types.ModuleType, part: str) -> tuple[Any, str, set[str], int]:
    """As `result_of`, with the reasons for graph breaks and the number of graphs."""
    minidynamo.reset()
    with minidynamo.config.patch(**getattr(example, f"settings_{part}", {})):
        captured = minidynamo.optimize(getattr(example, f"backend_{part}", "eager"))(getattr(example, part))
        result, out = result_of(example, part, captured)
    reasons = {record.reason for record in [*debug.graph_breaks(), *debug.uncaptured()]}
    return result, out, reasons, minidynamo.stats()["graphs"]


def assert_same(result: Any, expected: Any) -> None:
    assert type(result).__name__ == type(expected).__name__
    if isinstance(expected, torch.Tensor):
        torch.testing.assert_close(result, expected, equal_nan=True)
        assert result.requires_grad == expected.requires_grad
    elif isinstance(expected, dict):
        assert list(result) == list(expected)
        assert_same(list(result.values()), list(expected.values()))
    elif isinstance(expected, (list, tuple)):
        assert len(result) == len(expected)
        for one, other in zip(result, expected):
            assert_same(one, other)
    elif isinstance(expected, Exception):
        assert str(result) == str(expected)
    else:
        assert result == expected


@pytest.mark.parametrize("path", [pytest.param(path, id=code_of(path)) for path in FILES])
@pytest.mark.filterwarnings("ignore")
def test_example(path: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"break_example_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, shutil.copy(path, tmp_path))
    assert spec and spec.loader
    example = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, example)
    spec.loader.exec_module(example)

    before, before_out, reasons, _ = captured_result(example, "before")
    expected, expected_out = result_of(example, "before", example.before)
    assert_same(before, expected)
    assert before_out == expected_out
    assert reasons == {code_of(path)}

    after, after_out, reasons, graphs = captured_result(example, "after")
    expected, expected_out = result_of(example, "after", example.after)
    assert_same(after, expected)
    assert after_out == expected_out
    assert (reasons, graphs) == (set(), 1)

    raised = getattr(example, "before_raises", None)
    assert isinstance(before, Exception) == (raised is not None) and not isinstance(after, Exception)
    if raised:
        assert type(before) is raised
    elif not hasattr(example, "not_compared"):
        assert_same(after, before)
        assert after_out == before_out


@pytest.mark.parametrize("path", [pytest.param(path, id=code_of(path)) for path in FILES])
def test_page_has_the_whole_example(path: pathlib.Path) -> None:
    example = break_pages.example_of(code_of(path))
    assert example
    shown = example.before + "\n" + example.after
    for line in path.read_text().partition("def inputs(")[0].splitlines():
        assert line in shown or line.strip('" ') in example.note, line
    assert "def before(" in example.before or "before = " in example.before
    assert "def after(" in example.after and "def before(" not in example.after
    assert "def inputs(" not in shown


# The command


def test_command_lists_all_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    main(["breaks"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[: len(CODES)]] == CODES
    assert all(len(line.split()) > 3 and len(line) < 140 for line in lines[: len(CODES)])


@pytest.mark.parametrize("code", CODES)
def test_command_prints_the_page_of_a_reason(code: str) -> None:
    text = breaks(code)
    reason = next(reason for reason in debug.break_reasons() if reason.code == code)
    words = " ".join(text.split())
    assert text.startswith(code) and reason.explanation in words
    assert all(f"* {hint}" in words for hint in reason.hints)
    assert ("def after(" in text) == (code not in WITHOUT_EXAMPLE)


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("data-dependant-branch", "did you mean data-dependent-branch"),
        ("branch", "data-dependent-branch"),
        ("qqq", "`python -m minidynamo breaks` lists all"),
    ],
)
def test_command_refuses_an_unknown_name(name: str, advice: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["breaks", name])
    out, err = capsys.readouterr()
    assert end.value.code == 2 and not out
    assert f"no reason for a graph break is called {name!r}" in err and advice in err


def test_messages_name_the_command(tmp_path: pathlib.Path) -> None:
    """The command in an error runs as it stands there, in a folder without the repository."""
    with pytest.raises(minidynamo.Unsupported) as caught:
        minidynamo.optimize("eager", fullgraph=True)(lambda x: x if x.sum() > 0 else -x)(torch.ones(3))
    command = str(caught.value).splitlines()[-1].removeprefix("  See: ").split()
    assert command == ["python", "-m", "minidynamo", "breaks", "data-dependent-branch"]
    done = subprocess.run([sys.executable, *command[1:]], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == breaks("data-dependent-branch")


def test_console_script_is_the_same_command() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts == {"minidynamo": f"{main.__module__}:{main.__name__}"}
