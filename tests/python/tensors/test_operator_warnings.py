"""Warnings that operators give: those of eager, as often, at the user's line, and as errors where the program wants that."""

import subprocess
import sys
import textwrap

import pytest
from environments import said_of_the_program

PROLOGUE = """
import warnings
import torch, minidynamo

def outcome(function, *arguments):
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter({action!r})
        try:
            result = function(*arguments)
        except Warning as error:
            result = "raised " + type(error).__name__ + " " + str(error)[:40]
        return repr(result), [(w.category.__name__, str(w.message)[:60], w.filename == __file__, w.lineno) for w in given]
"""

FUNCTIONS = {
    # warns at each call
    "resized": """
def f(x):
    out = torch.empty(2)
    y = x + 1
    torch.add(x, 1, out=out)
    return out + y
""",
    # warns once in a process
    "meshgrid": """
def f(x):
    y = x + 1
    a, b = torch.meshgrid(x, y)
    return a + b
""",
    "caught": """
def f(x):
    y = x + 1
    try:
        torch.add(x, 1, out=torch.empty(2))
        return y
    except UserWarning:
        return y * 100
""",
}


@pytest.mark.parametrize(
    "action,backend", [(action, "eager") for action in ("always", "default", "error", "ignore")] + [("always", "aot_eager")]
)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_as_eager(function, backend, action, tmp_path):
    texts = []
    for call in ("f", f"minidynamo.compile(f, backend={backend!r})"):
        source = (
            PROLOGUE.format(action=action)
            + FUNCTIONS[function]
            + f"""
g = {call}
for size in (3, 3, 4, 3):
    print(outcome(g, torch.arange(float(size))))
"""
        )
        path = tmp_path / "program.py"
        path.write_text(textwrap.dedent(source))
        done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=240, check=False)
        assert done.returncode == 0, done.stderr
        texts.append((done.stdout, said_of_the_program(done.stderr)))
    assert texts[0] == texts[1]
