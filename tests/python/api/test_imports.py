"""Import statements of captured functions: what the program has put in the place of builtins.__import__ is asked."""

import builtins
import pathlib
import sys
import threading
from typing import Any

import pytest
import torch

import minidynamo


def imports(x: torch.Tensor) -> Any:
    import colorsys

    return x + 1, colorsys


def replaces(x: torch.Tensor, function: Any) -> Any:
    plain = builtins.__import__
    builtins.__import__ = function
    try:
        return imports(x)
    finally:
        builtins.__import__ = plain


PLAIN = builtins.__import__


def gives_a_number(name: str, *rest: Any) -> Any:
    return 5 if name == "colorsys" else PLAIN(name, *rest)


def test_a_function_that_is_put_there_between_two_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    import colorsys

    captured = minidynamo.compile(imports, backend="eager", fullgraph=True)
    assert captured(torch.ones(2))[1] is colorsys
    captured = minidynamo.compile(imports, backend="eager")
    assert captured(torch.ones(2))[1] is colorsys
    with monkeypatch.context() as patch:
        patch.setattr(builtins, "__import__", gives_a_number)
        assert captured(torch.ones(2))[1] == 5
    assert captured(torch.ones(2))[1] is colorsys


def test_a_function_that_is_put_there_in_the_call() -> None:
    import colorsys

    captured = minidynamo.compile(replaces, backend="eager")
    for function, expected in ((gives_a_number, 5), (PLAIN, colorsys)) * 2:
        assert captured(torch.ones(2), function)[1] == expected
        assert builtins.__import__ is PLAIN


def test_a_module_that_is_no_module_is_asked_for_its_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    class Package:
        __name__ = "json"
        __path__ = sys.modules["json"].__path__

    def reads(x: torch.Tensor) -> Any:
        from json import decoder

        return x + 1, decoder

    import json.decoder

    expected = json.decoder
    monkeypatch.setitem(sys.modules, "json", Package())  # type: ignore[arg-type]
    captured = minidynamo.compile(reads, backend="eager", fullgraph=True)
    assert captured(torch.ones(2))[1] is expected


def test_a_module_that_another_thread_is_importing_is_waited_for(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "minidynamo_slow_module.py").write_text(
        "import sys\nstarted, go_on = sys.gates\nstarted.set()\ngo_on.wait(60)\nvalue = 3\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    started, go_on = threading.Event(), threading.Event()
    monkeypatch.setattr(sys, "gates", (started, go_on), raising=False)

    def f(x: torch.Tensor) -> torch.Tensor:
        from minidynamo_slow_module import value

        return x * value

    results: list[Any] = []
    captured = minidynamo.compile(f, backend="eager")
    threads = [threading.Thread(target=lambda: __import__("minidynamo_slow_module"))]
    threads.append(threading.Thread(target=lambda: results.append(captured(torch.ones(2)))))
    threads[0].start()
    assert started.wait(60)
    threads[1].start()
    threads[1].join(0.3)
    assert not results
    go_on.set()
    for thread in threads:
        thread.join()
    assert results[0].tolist() == [3, 3]
    sys.modules.pop("minidynamo_slow_module")
