"""Warnings of C code that a trace runs (compile(), patterns, text with escapes): at the program's place, as often as in eager, under the
filters that the program has there, and never by other threads."""

import re
import sys
import threading
import warnings

import pytest
import torch

import minidynamo

FUNCTIONS = {
    "compile": """
def f(x):
    code = compile("x is 1", "<text>", "exec")
    return x + len(code.co_consts)
""",
    "eval": """
def f(x):
    return x + eval("(1 is 1) + 1", {})
""",
    "pattern": """
def f(x):
    import re
    return x + re.compile("[[a]{number}").groups
""",
    "pattern in a function": """
def f(x):
    import re
    def groups(pattern):
        return re.compile(pattern).groups
    return x + groups("[a||b]{number}")
""",
    "escape": """
def f(x):
    return x + len(b"a\\\\d".decode("unicode_escape"))
""",
    "truth": """
def f(x):
    try:
        return x + (1 if NotImplemented else 2)
    except TypeError:  # from Python 3.14 on
        return x
""",
    "inverted": """
def f(x):
    flag = x.dim() == 1
    return x + ~flag
""",
    "caught": """
def f(x):
    try:
        code = compile("x is 1", "<text>", "exec")
    except (SyntaxError, Warning) as error:
        return x - 1
    return x + 1
""",
    "own filters": """
def f(x):
    total = 0
    for action in ("error", "ignore", "always"):
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter(action)
            try:
                compile("x is 2", "<text>", "exec")
            except SyntaxError:
                total += 100
        total = total * 10 + len(given)
    return x + total
""",
}


def given_by(function, action, calls=2):
    """The results of `calls` calls, and what they warn of, where."""
    re.purge()
    outcomes = []
    for _ in range(calls):
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter(action)
            try:
                result = function(torch.ones(3)).tolist()
            except (Warning, SyntaxError) as error:
                result = type(error).__name__
        outcomes.append((result, [(w.category.__name__, str(w.message), w.filename, w.lineno) for w in given]))
    return outcomes


@pytest.mark.parametrize("action", ["always", "default", "error", "ignore"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_eager(name, action, tmp_path):
    """Each with a pattern of its own, since the module re keeps those that it has compiled."""
    outcomes = []
    for compiled in (False, True):
        file = tmp_path / "program.py"
        source = FUNCTIONS[name].replace("{number}", f"{{{len(name) + len(action)}}}")
        namespace = {"warnings": warnings}
        exec(compile(source, str(file), "exec"), namespace)
        function = minidynamo.compile(namespace["f"], backend="eager") if compiled else namespace["f"]
        outcomes.append(given_by(function, action))
    assert outcomes[1] == outcomes[0]


def test_other_threads_keep_their_filters():
    """A trap for warnings is one more filter for a moment, which is about the thread that captures alone."""
    stop, raised, rounds = threading.Event(), [], [0]

    def warn():
        while not stop.is_set():
            rounds[0] += 1
            try:
                warnings.warn("of another thread", UserWarning, stacklevel=2)
            except Warning as error:
                raised.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            before = list(warnings.filters)
            thread = threading.Thread(target=warn)
            thread.start()
            for number in range(60):

                def f(x, number=number):
                    return x + re.compile(f"(a)|b{{{number}}}").groups

                re.purge()
                assert minidynamo.compile(f, backend="eager")(torch.ones(2)).tolist() == [2, 2]
            stop.set()
            thread.join()
            assert warnings.filters == before
    finally:
        sys.setswitchinterval(interval)
    assert not raised
    assert rounds[0] > 100


def test_no_filters():
    """Filters that are no list are left as they are; what often warns is called where the program stands."""

    def f(x):
        return x + len(compile("1", "<text>", "eval").co_consts)

    before = warnings.filters
    warnings.filters = tuple(before)
    try:
        report = minidynamo.explain(f)(torch.ones(2))
        result = minidynamo.compile(f, backend="eager")(torch.ones(2))
    finally:
        warnings.filters = before
    assert result.tolist() == [2, 2]
    assert report.graph_break_count == 1
