"""`report()` and the commands that run a program: what they find in one whose faults are known, as text, data and page."""

import contextlib
import json
import os
import pathlib
import pty
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import reported_program
import torch
from environments import run_python, without_settings

import minidynamo
from minidynamo._capture.guard_groups import grouped, kind_of

PROGRAM = pathlib.Path(reported_program.__file__)


def line_of(text: str) -> int:
    return next(number for number, line in enumerate(PROGRAM.read_text().splitlines(), 1) if text in line)


@pytest.fixture
def found() -> minidynamo.Report:
    minidynamo.reset()
    with minidynamo.config.patch(stop_where_slower=False):
        reported_program.main()
    return minidynamo.report()


def test_advice_names_each_fault_the_worst_first(found: minidynamo.Report) -> None:
    given = [advice for advice in found.advice if advice.kind != "guards"]  # which are slow in the mirror mode of these tests
    kinds = [advice.kind for advice in given]
    assert kinds[:2] == ["error", "recompile-limit"] and kinds[-1] == "uncompiled"
    assert sorted(kinds[2:-1]) == ["graph-break"] * 3
    error, limit, *breaks, _ = given
    assert "wrong" in error.finding and "this <backend> has no exp" in error.finding and "minidynamo.repro" in error.remedy
    assert (
        "Scaled.forward" in limit.finding and "7 times" in limit.finding and "L['scale']" in limit.finding and "as a tensor" in limit.remedy
    )
    assert "4 times it ran uncaptured" in limit.finding
    for text, line in (
        ("branches on the value", "if x.sum() > 100"),
        ("asks for a graph break", "graph_break()"),
        ("disabled", "noted(x.tan())"),
    ):
        (advice,) = (advice for advice in breaks if f"{PROGRAM.name}:{line_of(line)}" in advice.finding)
        assert text in advice.finding and advice.remedy and advice.see.startswith("python -m minidynamo breaks ")


def test_figures_of_each_function(found: minidynamo.Report) -> None:
    by_name = {facts.name: facts for facts in found.functions}
    encoder, scaled, wrong = by_name["Encoder.forward"], by_name["Scaled.forward"], by_name["wrong"]
    assert (encoder.calls, encoder.hits, len(encoder.captures), encoder.uncaptured_calls) == (12, 11, 3, 0)
    assert (scaled.calls, scaled.hits, len(scaled.captures), scaled.uncaptured_calls) == (12, 0, 8, 4)
    assert (wrong.calls, wrong.hits, [capture.outcome for capture in wrong.captures]) == (1, 0, ["error"])
    assert [len(capture.failed_guards) for capture in scaled.captures] == list(range(8))
    assert len(scaled.recompiles) == 7 and encoder.recompiles == ()
    assert encoder.guard_seconds_per_call > 0 and scaled.guard_seconds_per_call == 0
    assert found.seconds["evaluate"] > 0 and sum(found.seconds.values()) <= sum(facts.seconds for facts in found.functions)
    assert encoder.source[0].strip().startswith("def forward") and encoder.line == line_of("def forward(self, x):")
    first = encoder.entries[0]
    assert next((step.line, step.operators) for step in first.steps) == (line_of("layer(x).relu()"), ("linear", "relu") * 3)
    assert first.steps[-1].uses == (len(first.steps) - 2,)
    data = json.loads(json.dumps(found.to_dict()))
    assert {item["name"]: item["recompiles"] for item in data["functions"]}["Scaled.forward"] == 7
    minidynamo.reset()
    assert minidynamo.report().functions == () and "nothing" not in str(minidynamo.report())


def test_text_is_a_screen(found: minidynamo.Report) -> None:
    text = str(found)
    assert text.startswith(f"{len(found.functions)} functions, ")
    assert re.search(r"^1\. wrong \(.*fails at once: BackendCompilerFailed", text, re.MULTILINE)
    assert re.search(r"^ *\[\d+\] Encoder\.forward +12 +11 +3 +2 ", text, re.MULTILINE)
    assert len(text.splitlines()) < 60


def test_a_program_without_faults_gets_no_advice_but_a_compiler() -> None:
    minidynamo.reset()
    f = minidynamo.compile(lambda x: x.sin() + 1, backend="eager")
    for _ in range(3):
        f(torch.ones(3))
    assert [advice.kind for advice in minidynamo.report().advice if advice.kind != "guards"] == ["uncompiled"]
    minidynamo.reset()
    assert minidynamo.report().advice == ()


def test_guards_are_grouped_by_what_a_person_may_change() -> None:
    class Box:
        scale = 2

    def f(x: torch.Tensor, box: Box, names: dict[str, int]) -> torch.Tensor:
        return torch.nn.functional.relu(x) * box.scale * len(names)

    optimized = minidynamo.compile(f, backend="eager")
    optimized(torch.ones(3), Box(), {"a": 1})
    (entry,) = minidynamo.debug.cache_entries(optimized)
    groups = grouped(entry.guards)
    assert sorted(guard for group in groups for guard in group.guards) == sorted(entry.guards)
    assert [group.path for group in groups if group.kind == "tensor"] == ["L['x']"]
    assert groups[-1].is_folded and not any(group.is_folded for group in groups[:-1])
    assert {kind_of("L['n'] == 2  # a.py:3"), kind_of("len(L['n']) == 2")} == {"value"}
    parameter = "type(L['w']) is torch.nn.parameter.Parameter and L['w'].dtype == torch.float32 and L['w'].device == torch.device('cpu')"
    assert kind_of(parameter) == "parameter" and [group.is_folded for group in grouped([parameter])] == [True]
    assert kind_of("torch.is_grad_enabled() == True and x") == kind_of("G['F'] is torch.nn.functional  # a.py:1") == "other"


def test_nothing_that_only_a_page_needs_is_imported() -> None:
    done = run_python("import sys, minidynamo; print(minidynamo.report(), 'jinja2' in sys.modules)")
    assert done.stdout.endswith(" False\n"), done.stdout + done.stderr


def test_the_page_needs_nothing_else_and_escapes_texts(found: minidynamo.Report, tmp_path: pathlib.Path) -> None:
    found.write_html(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert "this &lt;backend&gt; has no exp" in text and "<backend>" not in text
    assert not re.search(r'(?:src|href)="(?!#)', text) and "@import" not in text
    assert "<iframe srcdoc=" in found._repr_html_()


@pytest.fixture
def browser() -> Iterator[Any]:
    webdriver = pytest.importorskip("selenium.webdriver")
    paths = shutil.which("chromium"), shutil.which("chromedriver")
    if None in paths:
        pytest.skip("there is no chromium")
    options = webdriver.ChromeOptions()
    options.binary_location = paths[0]
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1200,1600"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=paths[1]))
    try:
        yield driver
    finally:
        driver.quit()


@pytest.mark.slow
def test_the_page_in_a_browser(found: minidynamo.Report, browser: Any, tmp_path: pathlib.Path) -> None:
    """Clicks through it: from the first advice to the function, its source, a break and a graph."""
    path = tmp_path / "report.html"
    found.write_html(path)
    browser.get(path.as_uri())

    def all_of(selector: str) -> list[Any]:
        return list(browser.find_elements("css selector", selector))

    def shown() -> list[str]:
        return [section.get_attribute("id") for section in all_of("section.function") if section.is_displayed()]

    ids = {facts.name: facts.id for facts in found.functions}
    assert shown() == [f"function-{found.functions[0].id}"]
    advice = all_of("ol.advice li")
    assert [item.find_element("css selector", ".kind").text for item in advice] == [item.kind for item in found.advice]
    advice[1].find_element("css selector", "a").click()
    assert shown() == [f"function-{ids['Scaled.forward']}"]
    assert len(all_of(f"#function-{ids['Scaled.forward']} table.recompiles tr")) == 1 + 7
    next(row for row in all_of("#functions tr.function") if "Encoder.forward" in row.text).click()
    assert shown() == [f"function-{ids['Encoder.forward']}"]
    encoder = f"#function-{ids['Encoder.forward']}"
    broken = [row.find_element("css selector", ".line").text for row in all_of(f"{encoder} .source tr.break")]
    assert broken == [str(line_of("if x.sum() > 100")), str(line_of("graph_break()"))]
    (first, *_) = all_of(f"{encoder} details.break")
    assert not first.find_element("css selector", "pre").is_displayed()
    first.find_element("css selector", "summary").click()
    assert "choose between values with torch.where" in first.find_element("css selector", "pre").text
    drawn = all_of(f"{encoder} details.drawing")[0]
    drawn.find_element("css selector", "summary").click()
    assert "linear, relu" in drawn.text and drawn.find_elements("css selector", "path")
    bars = all_of(".timeline .row b")
    assert len(bars) >= sum(len(facts.captures) for facts in found.functions)
    width = browser.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
    assert width and not [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "minidynamo", *arguments], capture_output=True, text=True, env=without_settings(), timeout=300
    )


def test_the_command_reports_on_a_program(tmp_path: pathlib.Path) -> None:
    done = command("report", str(PROGRAM))
    assert done.returncode == 0 and done.stdout == "" and "what to do first:" in done.stderr, done.stderr
    assert "Scaled.forward" in done.stderr and "recompile-limit" in done.stderr
    page = tmp_path / "page.html"
    done = command("report", "--html", str(page), str(PROGRAM))
    assert done.returncode == 0 and f"the report is in {page}" in done.stderr and "Encoder.forward" in page.read_text()


def test_commands_run_a_program_as_python_does(tmp_path: pathlib.Path) -> None:
    script = tmp_path / "script.py"
    (tmp_path / "beside.py").write_text("def double(x): return x * 2\n")
    script.write_text(
        "import sys, torch, beside\n"
        "def f(x): return beside.double(x.sin())\n"
        "if __name__ == '__main__':\n"
        "    print(f(torch.zeros(2)).tolist(), sys.argv[1:], sys.argv[0])\n"
        "    sys.exit(3)\n"
    )
    for name in ("run", "explain", "report"):
        done = command(name, "--backend", "eager", str(script), "--flag", "7")
        assert done.returncode == 3 and done.stdout == f"[0.0, 0.0] ['--flag', '7'] {script}\n", done.stderr
        assert ("f" in done.stderr and "1 functions, 1 captures" in done.stderr) == (name != "run")
    script.write_text("import torch\ndef f(x): return x.sin()\nf(torch.ones(2))\nraise KeyError('lost')\n")
    done = command("explain", str(script))
    assert done.returncode == 1 and "KeyError: 'lost'" in done.stderr and "1 captures" in done.stderr


SLOW_BACKEND = """
import os, time, torch, minidynamo
def slow(graph_module, example_inputs):
    time.sleep(2.5)
    return graph_module.forward
@minidynamo.compile(backend=slow)
def f(x): return x.sin()
f(torch.ones(2))
if os.fork() == 0:
    f(torch.ones(3))
    os._exit(0)
os.wait()
"""


@pytest.mark.slow
def test_a_terminal_shows_what_takes_long_and_a_pipe_does_not(tmp_path: pathlib.Path) -> None:
    script = tmp_path / "slow.py"
    script.write_text(SLOW_BACKEND)
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "minidynamo", "report", str(script)], stderr=theirs, env=without_settings() | {"TERM": "xterm"}
    )
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # the terminal's other side is closed
        while piece := os.read(ours, 4096):
            shown += piece
    os.close(ours)
    assert process.wait(timeout=300) == 0
    lines = shown.decode().split("\r\x1b[K")
    assert lines[1:3] == ["[0/0] f (slow.py:6) is captured for slow: 1 s", "[0/0] f (slow.py:6) is captured for slow: 2 s"]
    assert len(lines) == 4 and "1 functions" in lines[3]  # it is erased, and the child of the fork shows nothing
    done = command("report", str(script))
    assert done.returncode == 0 and "is captured for" not in done.stderr


def test_commands_say_what_is_wrong(tmp_path: pathlib.Path) -> None:
    done = command("report", str(tmp_path / "missing.py"))
    assert done.returncode == 2 and "there is no file" in done.stderr and "Traceback" not in done.stderr
    script = tmp_path / "script.py"
    script.write_text("print('ran')\n")
    done = command("run", "--backend", "inductr", str(script))
    assert done.returncode == 2 and "inductr" in done.stderr and done.stdout == "" and "Traceback" not in done.stderr
    assert command("info").stdout == command().stdout
