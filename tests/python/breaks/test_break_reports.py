"""Why captures stop, as data and in words: the table of reasons, records, errors, logs, `explain` and the docs page.

A break splits a frame or leaves it as it was; these tests look at reasons and places, which are the same in both cases.
"""

import copy
import dataclasses
import html
import importlib.util
import json
import linecache
import logging
import pathlib
import pickle
import random
import re
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

import minidynamo
from minidynamo import _C, debug
from minidynamo._records import breaks

ROOT = pathlib.Path(__file__).parents[3]
X = torch.ones(3)


def first_break(f: Callable[..., Any], *args: Any) -> debug.Uncaptured:
    """The first break of one captured call, whose result must be that of an uncaptured one."""
    report = minidynamo.explain(f)(*args)
    assert report.breaks, "nothing stopped the capture"
    return report.breaks[0]


def unsupported(f: Callable[..., Any], *args: Any) -> minidynamo.Unsupported:
    with pytest.raises(minidynamo.Unsupported) as caught:
        minidynamo.optimize("eager", fullgraph=True)(f)(*args)
    return caught.value


# The table


def test_every_reason_says_what_it_means_and_what_to_do() -> None:
    reasons = debug.break_reasons()
    codes = [reason.code for reason in reasons]
    assert codes == sorted(set(codes))
    for reason in reasons:
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", reason.code)
        assert reason.explanation.endswith("."), reason.code
        assert reason.hints and all(hint and hint == hint.strip() and not hint.endswith(".") for hint in reason.hints), reason.code


def test_docs_page_is_made_of_the_table() -> None:
    spec = importlib.util.spec_from_file_location("make_docs", ROOT / "scripts" / "make_docs.py")
    assert spec and spec.loader
    make_docs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make_docs)
    assert make_docs.PAGE.read_text() == make_docs.page(), "run scripts/make_docs.py"
    headings = re.findall(r"^### (.*)$", make_docs.page(), re.MULTILINE)
    assert headings == [reason.code for reason in debug.break_reasons()]
    assert all(reason.docs == f"python -m minidynamo breaks {reason.code}" for reason in debug.break_reasons())


def test_every_reason_is_given_somewhere() -> None:
    names = re.findall(r"^BREAK_REASON\((\w+),", (ROOT / "csrc/world/state/break_reasons.def").read_text(), re.MULTILINE)
    sources = "".join(path.read_text() for path in (ROOT / "csrc").rglob("*") if path.suffix in (".cpp", ".h", ".def"))
    unused = [name for name in names if f"BreakReason::{name}" not in sources]
    assert not unused


class Noisy:
    def __del__(self) -> None:
        pass


@torch.library.custom_op("break_reports::no_fake", mutates_args=())
def no_fake(x: torch.Tensor) -> torch.Tensor:
    return x + 1


def warns_where_it_may_be_caught(x: torch.Tensor) -> torch.Tensor:
    try:
        warnings.warn("careful", stacklevel=1)
    except UserWarning:
        return -x
    return x


CAUSES: list[tuple[str, Callable[[torch.Tensor], Any]]] = [
    ("autograd-call", lambda x: (x.sum().backward(), x * 2)[1]),
    ("autograd-call", lambda x: (torch.autograd.backward(x.sum()), x * 2)[1]),
    ("class-definition", lambda x: (type("Local", (), {}), x)),
    ("data-dependent", lambda x: x[None].unique(dim=1)),
    ("data-dependent", lambda x: x[None].unique_consecutive(dim=0)),
    ("data-dependent-branch", lambda x: x if x.sum() > 0 else -x),
    ("data-dependent-branch", lambda x: not x.sum()),
    ("explicit-break", lambda x: (minidynamo.graph_break(), x)[1]),
    ("file-access", lambda x: (open("/dev/null").close(), x)[1]),
    ("frame-introspection", lambda x: (sys._getframe(1), x)[1]),
    ("frame-introspection", lambda x: (sys._getframe().f_back, x)[1]),
    ("frame-introspection", lambda x: (sys._current_frames(), x)[1]),
    ("frame-introspection", lambda x: eval(b"x", {"x": x})),
    ("finalizer", lambda x: (Noisy(), x)[1]),
    ("no-fake-implementation", lambda x: no_fake(x)),
    ("numpy-call", lambda x: x.detach().numpy()[::-1]),
    ("object-identity", lambda x: (str(first_break), x)[1]),
    ("operator-raised", lambda x: x.view(7) if x.dim() else x),
    ("pickling", lambda x: copy.deepcopy([x.detach(), x.detach()])),
    ("print", lambda x: (y := x * 2, print(y, end=""), y.mul_(1))[2]),
    ("random-number", lambda x: x * random.choice([1, 2])),
    ("random-seed", lambda x: (torch.manual_seed(0), x)[1]),
    ("scalar-read", lambda x: round(x.sum().item())),
    ("scalar-read", lambda x: (x + 0j).tolist()),
    ("scalar-read", lambda x: int(x.detach().sum())),
    ("storage-access", lambda x: x.data_ptr()),
    ("storage-access", lambda x: x.untyped_storage().nbytes()),
    ("tensor-from-data", lambda x: x.new_tensor(x)),
    ("tensor-identity", lambda x: hash(x)),
    ("tensor-to-text", lambda x: f"{x}"),
    ("tensor-to-text", lambda x: str([x * 2])),
    ("warning", lambda x: warns_where_it_may_be_caught(x)),
]


@pytest.mark.parametrize(("reason", "cause"), [pytest.param(*case, id=f"{case[0]}-{n}") for n, case in enumerate(CAUSES)])
@pytest.mark.filterwarnings("ignore:careful")
def test_reason_for_a_cause(reason: str, cause: Callable[[torch.Tensor], Any]) -> None:
    captured = minidynamo.optimize("eager")(cause)
    try:
        captured(X.clone().requires_grad_())
    except RuntimeError as error:
        assert "shape '[7]' is invalid" in str(error)
    (record, *_) = [*debug.graph_breaks(), *debug.uncaptured()]
    assert record.reason == reason, record
    assert __file__ in record.user_stack and f"line {cause.__code__.co_firstlineno}, in <lambda>" in record.user_stack
    assert record.hints and record.explanation
    assert minidynamo.stats()["graph_breaks"][reason] >= 1


# Records


def test_record_points_at_the_expression() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        y = x.sin()
        return y + (1 if y.sum() > 0 else 2)

    record = first_break(f, X)
    assert (record.filename, record.line) == (__file__, f.__code__.co_firstlineno + 2)
    assert record.code is f.__code__ and record.function == f.__qualname__ and record.frame.endswith("f")
    line, carets = record.source.splitlines()
    assert line == "return y + (1 if y.sum() > 0 else 2)"
    assert line[carets.index("^") : len(carets)] == "y.sum() > 0"


def test_kinds_of_records_are_told_apart() -> None:
    minidynamo.optimize("eager")(lambda x: x if x.sum() > 0 else -x)(X)
    split, whole = debug.graph_breaks(), debug.uncaptured()
    assert split or whole
    assert {record.kind for record in split} <= {"graph-break"} and {record.kind for record in whole} <= {"uncaptured"}
    assert sum(minidynamo.stats()["graph_breaks"].values()) == len(split) + len(whole)
    minidynamo.reset()
    assert not debug.graph_breaks() and not debug.uncaptured()


def test_a_split_frame_is_told_from_one_that_runs_as_it_was() -> None:
    report = minidynamo.explain(outer)(X)
    told = {}
    for kind in ("graph-break", "uncaptured"):
        record = dataclasses.replace(report.breaks[0], kind=kind)
        values = {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}
        told[kind] = breaks.log_text(values), str(dataclasses.replace(report, breaks=(record,)))  # type: ignore[arg-type]
    assert all(" is split: " in text or ": graph break: " in text for text in told["graph-break"])
    assert all(" runs uncaptured: " in text for text in told["uncaptured"])


def inner(x: torch.Tensor) -> torch.Tensor:
    return x * int(x.sum())


def outer(x: torch.Tensor) -> torch.Tensor:
    return inner(x + 1)


def test_stack_of_a_break_in_a_callee() -> None:
    record = first_break(outer, X)
    assert record.function == "inner" and record.filename == __file__
    text = record.describe()
    assert text.index(", in outer") < text.index("    return inner(x + 1)") < text.index(", in inner")
    assert f"  at {__file__}:{inner.__code__.co_firstlineno + 1} in inner" in text


def test_record_as_data() -> None:
    record = first_break(outer, X)
    data = json.loads(json.dumps(record.to_dict()))
    assert data["reason"] == record.reason and data["line"] == record.line and data["kind"] == record.kind
    assert data["hints"] == list(record.hints) and data["source"] == record.source


# Source lines


def cached_source(name: str, text: str) -> str:
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    return name


def test_caret_below_bytes_tabs_and_wide_characters() -> None:
    name = cached_source("<carets>", '\tx = f("é漢", y)\n    a = g(\n        1)\n')
    line = '\tx = f("é漢", y)'
    column = line.encode().index(b", y") + 2
    assert breaks.source_with_caret(name, 1, column, column + 1) == f'x = f("é漢", y)\n{" " * 13}^'
    assert breaks.source_with_caret(name, 2, 8, -1) == "a = g(\n    ^^"  # goes on in the next line
    assert breaks.source_with_caret(name, 2) == "a = g("
    assert breaks.source_with_caret(name, 2, 400, 401) == "a = g("
    assert breaks.source_with_caret(name, 9, 0, 1) == ""
    assert breaks.source_with_caret("/no/such/file.py", 1, 0, 1) == ""


def test_expression_over_several_lines_is_marked_in_the_first() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        time.sleep(
            0,
        )
        return x

    record = first_break(f, X)
    assert (record.line, record.end_column) == (f.__code__.co_firstlineno + 1, -1)
    assert record.source == "time.sleep(\n^^^^^^^^^^^"


def test_code_without_a_file_gets_no_caret() -> None:
    namespace: dict[str, Any] = {}
    exec("def f(x):\n    open('/dev/null').close()\n    return x", namespace)
    record = first_break(namespace["f"], X)
    assert (record.reason, record.filename, record.line, record.source) == ("file-access", "<string>", 2, "")
    error = unsupported(namespace["f"], X)
    assert "<string>:2" in str(error) and "^" not in str(error)


# fullgraph


def test_error_has_place_source_advice_and_stack() -> None:
    error = unsupported(outer, X)
    reason = next(reason for reason in debug.break_reasons() if reason.code == "scalar-read")
    assert (error.reason, error.hints, error.explanation) == (reason.code, reason.hints, reason.explanation)
    assert (error.filename, error.line) == (__file__, inner.__code__.co_firstlineno + 1)
    assert error.function == "inner" and error.detail in str(error)
    line = linecache.getline(error.filename, error.line)
    assert line[error.column : error.end_column] == "int(x.sum())"
    assert [text.strip() for text in error.user_stack.splitlines()] == [
        f'File "{__file__}", line {outer.__code__.co_firstlineno + 1}, in outer',
        f'File "{__file__}", line {inner.__code__.co_firstlineno + 1}, in inner',
    ]
    text = str(error)
    assert text.splitlines()[0] == f"{error.detail} [scalar-read]"
    assert "      return x * int(x.sum())\n                 ^^^^^^^^^^^^\n" in text
    assert all(f"  * {hint}\n" in text for hint in reason.hints)
    assert text.endswith(f"See: {reason.docs}")


def test_error_of_a_second_call_is_the_same() -> None:
    captured = minidynamo.optimize("eager", fullgraph=True)(outer)
    errors = []
    for _ in range(2):
        with pytest.raises(minidynamo.Unsupported) as caught:
            captured(X)
        errors.append(caught.value)
    first, second = errors
    assert str(first) == str(second) and first.__dict__ == second.__dict__


def test_error_can_be_pickled() -> None:
    error = unsupported(outer, X)
    copied = pickle.loads(pickle.dumps(error))
    assert type(copied) is minidynamo.Unsupported
    assert str(copied) == str(error) and copied.__dict__ == error.__dict__


def test_error_with_a_message_alone() -> None:
    error = minidynamo.Unsupported("something")
    assert (str(error), error.reason, error.line, error.column, error.hints) == ("something", "", 0, -1, ())
    assert isinstance(error, minidynamo.MinidynamoError)


# Log


def test_log_says_what_the_error_says(caplog: pytest.LogCaptureFixture) -> None:
    with minidynamo.config.patch(logs={"breaks"}), caplog.at_level(logging.DEBUG, "minidynamo"):
        minidynamo.optimize("eager")(outer)(X)
    (record, *_) = [*debug.graph_breaks(), *debug.uncaptured()]
    assert caplog.records[0].message.startswith(f"[{record.capture}] outer ")
    assert f"[{record.reason}]" in caplog.records[0].message and record.describe() in caplog.records[0].message


def test_log_is_silent_unless_asked(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "minidynamo"):
        minidynamo.optimize("eager")(outer)(X)
    assert not caplog.records


# explain


def test_explain_as_data() -> None:
    report = minidynamo.explain(outer)(X)
    data = json.loads(json.dumps(report.to_dict()))
    assert torch.equal(report.result, outer(X))
    assert data["graph_count"] == report.graph_count and len(data["graphs"]) == report.graph_count
    assert sum(len(graph["operators"]) for graph in data["graphs"]) == data["op_count"] == report.op_count
    (row, *_) = data["breaks"]
    assert row["reason"] == "scalar-read" and row["count"] >= 1 and "^" in row["source"] and row["hints"]
    assert len(data["entries"]) == len(report.guards) == len(report.entries)
    assert set(data["seconds"]) == set(report.seconds)


def test_explain_names_each_entrys_function() -> None:
    report = minidynamo.explain(inner_without_break)(X)
    assert report.entries == ("inner_without_break",) and report.to_dict()["entries"][0]["guards"] == list(report.guards[0])
    assert "guards of entry 0, inner_without_break:" in str(report)


def test_explain_folds_guards_that_hardly_fail() -> None:
    report = minidynamo.explain(torch.nn.Linear(3, 2))(torch.ones(4, 3))
    (guards,) = report.guards
    text = str(report)
    assert any(guard in text for guard in guards) and "2 guards on parameters" in text
    folded = [guard for guard in guards if guard not in text]
    assert len(folded) > len(guards) / 2 and all(guard in report.text(all_guards=True) for guard in guards)
    assert repr(report).startswith("<Explanation: 1 graph, 1 operation, 0 breaks, ")


def test_explain_in_a_notebook() -> None:
    report = minidynamo.explain(outer)(X)
    page = report._repr_html_()
    assert page.count("<details>") == page.count("</details>") >= len(report.breaks) + len(report.graphs) + len(report.entries)
    assert all(html.escape(record.detail) in page for record in report.breaks)
    assert all(html.escape(guard) in page for guards in report.guards for guard in guards)


def inner_without_break(x: torch.Tensor) -> torch.Tensor:
    return x + 1


def test_explain_prints_a_repeated_break_once() -> None:
    report = minidynamo.explain(outer)(X)
    repeated = dataclasses.replace(report, breaks=report.breaks[:1] * 3)
    assert str(repeated).count("[scalar-read]") == 1 and "break 0 (3 times)" in str(repeated)
    (row,) = repeated.to_dict()["breaks"]
    assert row["count"] == 3 and repeated.graph_break_count == 3


def test_explain_shows_source_and_advice() -> None:
    text = str(minidynamo.explain(outer)(X))
    assert "^^^^" in text and "  * " in text and "[scalar-read]" in text


def test_entries_of_resume_functions_belong_to_the_function(monkeypatch: pytest.MonkeyPatch) -> None:
    # Code that goes on after a break, by the native part, is followed to the end and in circles.
    following = {outer.__code__: [inner.__code__], inner.__code__: [inner_without_break.__code__, outer.__code__]}
    monkeypatch.setattr(_C, "resume_codes", lambda code: following.get(code, []), raising=False)
    assert debug.codes_of(outer) == [outer.__code__]
    assert debug.codes_of(outer, resumed=True) == [outer.__code__, inner.__code__, inner_without_break.__code__]
