"""Users' rules for functions and files: allow_in_graph, assume_constant_result, disable, skip, and torch's marks.

It makes no difference to these tests if a frame with a break is split or runs uncaptured.
"""

import functools
import gc
import importlib.util
import os
import pathlib
import subprocess
import sys
import textwrap
import threading
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import minidynamo
from minidynamo import debug

X = torch.ones(3)


@pytest.fixture(autouse=True)
def no_skip_rules_left() -> Iterator[None]:
    yield
    minidynamo.config.skip = ()


def whole(f: Callable[..., Any]) -> Callable[..., Any]:
    return minidynamo.optimize("eager", fullgraph=True)(f)


def targets(f: Callable[..., Any]) -> list[Any]:
    (entry,) = debug.cache_entries(f)
    assert entry.graph is not None
    return [node.target for node in entry.graph.nodes if node.op.startswith("call")]


def records() -> list[debug.Uncaptured]:
    return [*debug.graph_breaks(), *debug.uncaptured()]


# allow_in_graph


def test_allowed_function_is_one_node_and_nothing_looks_inside() -> None:
    class Opaque:
        def __del__(self) -> None:  # a break, if it were traced
            pass

    @minidynamo.allow_in_graph
    def rotated(x: torch.Tensor, angle: float, *, scale: int = 1) -> tuple[torch.Tensor, torch.Tensor]:
        Opaque()
        return x.sin() * angle, x.cos() * scale

    def f(x: torch.Tensor) -> torch.Tensor:
        a, b = rotated(x, 0.5, scale=3)
        return a + b

    captured = whole(f)
    for value in (X, X * 2):
        assert torch.equal(captured(value), f(value))
    assert targets(captured)[0] is rotated and targets(captured).count(rotated) == 1
    assert torch.Tensor.sin not in targets(captured) and torch.sin not in targets(captured)


def test_allowed_function_runs_in_every_call_used_or_not() -> None:
    seen: list[bool] = []

    @minidynamo.allow_in_graph
    def note(x: torch.Tensor) -> None:
        seen.append(True)

    @minidynamo.allow_in_graph
    def number(x: torch.Tensor) -> int:
        seen.append(False)
        return 3

    def f(x: torch.Tensor) -> torch.Tensor:
        note(x)
        return x * number(x)

    captured = whole(f)
    captured(X)
    seen.clear()
    assert torch.equal(captured(X), X * 3)
    assert seen == [True, False] and targets(captured)[:2] == [note, number]


def test_allowed_function_may_make_and_find_tensors() -> None:
    bias = torch.full((3,), 2.0)

    @minidynamo.allow_in_graph
    def shifted(x: torch.Tensor) -> torch.Tensor:
        return x * torch.tensor(3.0) + bias

    @minidynamo.allow_in_graph
    def made() -> torch.Tensor:
        return torch.tensor([1.0, 2.0, 3.0])

    @minidynamo.allow_in_graph
    def found() -> torch.Tensor:
        return bias

    captured = whole(lambda x: shifted(x) + made() + found())
    assert torch.equal(captured(X), X * 3 + bias + made() + bias)
    bias.add_(1)
    assert torch.equal(captured(X), X * 3 + bias + made() + bias)
    assert [target for target in targets(captured) if target in (shifted, made, found)] == [shifted, made, found]


def test_gradients_flow_through_an_allowed_function() -> None:
    @minidynamo.allow_in_graph
    def squared(x: torch.Tensor) -> torch.Tensor:
        return x * x

    for backend in ("eager", "aot_eager"):
        x = X.clone().requires_grad_()
        minidynamo.optimize(backend, fullgraph=True)(lambda t: squared(t).sum())(x).backward()
        assert torch.equal(x.grad, 2 * X)


def test_allow_in_graph_takes_lists_builtins_and_methods_of_classes() -> None:
    class Layer:
        def run(self, x: torch.Tensor) -> torch.Tensor:
            return x + 1

    def one(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    assert minidynamo.allow_in_graph([one, torch.relu]) == [one, torch.relu]
    assert minidynamo.remove_rule(torch.relu) and minidynamo.remove_rule(one)
    for wrong in (3, torch.nn.Linear(2, 2), Layer().run):
        with pytest.raises(minidynamo.InvalidOptimizeTarget, match="allow_in_graph needs a function"):
            minidynamo.allow_in_graph(wrong)


def test_rule_can_be_taken_back() -> None:
    @minidynamo.allow_in_graph
    def doubled(x: torch.Tensor) -> torch.Tensor:
        return x + x

    captured = whole(lambda x: doubled(x))
    captured(X)
    assert targets(captured) == [doubled]
    minidynamo.reset()
    captured(X)
    assert targets(captured) == [doubled]  # a rule outlives a reset
    assert minidynamo.remove_rule(doubled) and not minidynamo.remove_rule(doubled)
    captured(X)
    assert targets(captured) == [doubled]  # an entry outlives its rule
    minidynamo.reset()
    captured(X)
    assert doubled not in targets(captured)


def test_rule_does_not_keep_its_function_alive() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x

    died = weakref.ref(f)
    minidynamo.allow_in_graph(f)
    minidynamo.assume_constant_result(f)
    del f
    gc.collect()
    assert died() is None


# assume_constant_result


def test_constant_function_runs_while_capturing_only() -> None:
    calls: list[int] = []

    @minidynamo.assume_constant_result
    def width(n: int, *, more: int = 0) -> int:
        calls.append(n)
        return len(os.environ) * 0 + n * 2 + more

    def f(x: torch.Tensor) -> torch.Tensor:
        return x * width(3, more=1)

    captured = whole(f)
    assert torch.equal(captured(X), X * 7)
    calls.clear()
    assert torch.equal(captured(X * 2), X * 14)
    assert calls == [] and len(targets(captured)) == 1


def test_constant_result_is_not_guarded_on_what_was_read() -> None:
    setting = {"scale": 2}

    @minidynamo.assume_constant_result
    def scale() -> int:
        return setting["scale"]

    captured = whole(lambda x: x * scale())
    assert torch.equal(captured(X), X * 2)
    setting["scale"] = 5
    assert torch.equal(captured(X), X * 2)
    minidynamo.reset()
    assert torch.equal(captured(X), X * 5)


def test_constant_result_may_be_any_object() -> None:
    weight = torch.arange(3.0)

    @minidynamo.assume_constant_result
    def settings() -> dict[str, Any]:
        return {"weight": weight, "sizes": [1, 2], "made": torch.full((3,), 2.0)}

    def f(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        found = settings()
        return x * found["weight"] + found["sizes"][1] + found["made"], found["weight"]

    captured = whole(f)
    for _ in range(2):
        value, same = captured(X)
        assert torch.equal(value, weight + 4) and same is weight
    assert len(debug.cache_entries(captured)) == 1


def test_constant_method_holds_for_its_object() -> None:
    class Model:
        def __init__(self, n: int) -> None:
            self.n = n

        @minidynamo.assume_constant_result
        def size(self) -> int:
            return self.n

    first, second = Model(2), Model(3)
    captured = whole(lambda x, model: x * model.size())
    for model in (first, second, first, second):
        assert torch.equal(captured(X, model), X * model.n)
    assert len(debug.cache_entries(captured)) == 2


def test_constant_function_of_a_tensor_is_a_break() -> None:
    @minidynamo.assume_constant_result
    def size(x: torch.Tensor) -> int:
        return x.numel()

    def f(x: torch.Tensor) -> torch.Tensor:
        return x * size(x)

    assert torch.equal(minidynamo.optimize("eager")(f)(X), X * 3)
    record = records()[0]
    assert (record.reason, record.line) == ("assumed-constant", f.__code__.co_firstlineno + 1)
    assert "argument 0" in record.detail and record.source.endswith("^^^^^^^")


def test_constant_function_of_an_object_changed_in_the_call_is_a_break() -> None:
    class Model:
        n = 1

        @minidynamo.assume_constant_result
        def size(self) -> int:
            return self.n

    def f(x: torch.Tensor, model: Model) -> torch.Tensor:
        model.n = model.n + 1
        return x * model.size()

    model = Model()
    assert torch.equal(minidynamo.optimize("eager")(f)(X, model), X * 2)
    assert records()[0].reason == "assumed-constant" and model.n == 2


def test_exception_of_a_constant_function_is_the_programs() -> None:
    @minidynamo.assume_constant_result
    def missing() -> int:
        raise KeyError("no such setting")

    def f(x: torch.Tensor) -> torch.Tensor:
        try:
            return x * missing()
        except KeyError:
            return x + 1

    assert torch.equal(whole(f)(X), X + 1)


# disable


def helper(x: torch.Tensor) -> torch.Tensor:
    return x.sin()


def test_disabled_function_runs_uncaptured_with_what_it_calls() -> None:
    @minidynamo.disable(reason="talks to a socket")
    def quiet(x: torch.Tensor) -> torch.Tensor:
        assert not minidynamo.is_compiling()
        return helper(x)

    def f(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        return quiet(y) + 1

    assert torch.equal(minidynamo.optimize("eager")(f)(X), (X * 2).sin() + 1)
    record = records()[0]
    assert (record.reason, record.filename) == ("disabled-function", __file__)
    assert record.line == f.__code__.co_firstlineno + 2 and record.source == "return quiet(y) + 1\n       ^^^^^^^^"
    assert record.detail.endswith("quiet is disabled: talks to a socket")
    assert debug.cache_entries(quiet.__wrapped__) == [] and debug.cache_entries(helper) == []


def test_disabled_not_recursively_captures_what_it_calls() -> None:
    def outer(x: torch.Tensor) -> torch.Tensor:
        assert not minidynamo.is_compiling()
        return helper(x) * 2

    assert minidynamo.disable(outer, recursive=False, reason="by hand") is outer

    def f(x: torch.Tensor) -> torch.Tensor:
        return outer(x + 1)

    captured = minidynamo.optimize("eager")(f)
    for _ in range(2):
        assert torch.equal(captured(X), (X + 1).sin() * 2)
    record = records()[0]
    assert record.reason == "disabled-function" and record.detail.endswith("outer is disabled: by hand")
    assert record.line == f.__code__.co_firstlineno + 1
    assert debug.cache_entries(outer) == [] and len(debug.cache_entries(helper)) == 1
    assert minidynamo.remove_rule(outer)
    minidynamo.reset()

    def traced(x: torch.Tensor) -> torch.Tensor:
        return helper(x) * 2

    assert torch.equal(whole(traced)(X), X.sin() * 2)


def test_disabled_function_as_the_target() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return helper(x)

    for disabled in (minidynamo.disable(f), minidynamo.disable(f, recursive=False)):
        minidynamo.reset()
        assert torch.equal(minidynamo.optimize("eager")(disabled)(X), X.sin())
        assert [record.reason for record in debug.uncaptured()] == ["disabled-function"]
        with pytest.raises(minidynamo.Unsupported, match="is disabled"):
            whole(disabled)(X)


def test_disabled_methods_modules_and_callbacks() -> None:
    class Model:
        def run(self, x: torch.Tensor) -> torch.Tensor:
            return x + 1

    model = Model()
    quiet = minidynamo.disable(model.run)
    assert torch.equal(minidynamo.optimize("eager")(lambda x: quiet(x) * 2)(X), (X + 1) * 2)
    assert records()[0].reason == "disabled-function"
    minidynamo.reset()
    assert torch.equal(minidynamo.optimize("eager")(lambda x: next(map(quiet, [x])))(X), X + 1)
    assert records()[0].reason == "disabled-function"  # called by C code
    minidynamo.reset()
    layer = minidynamo.disable(torch.nn.Linear(3, 3))
    captured = minidynamo.optimize("eager")(lambda x: layer(x) + 1)
    assert torch.equal(captured(X), layer._orig_mod(X) + 1)
    assert records()[0].reason == "disabled-function" and "Linear.forward" in records()[0].detail
    with pytest.raises(minidynamo.InvalidOptimizeTarget, match="recursive=False"):
        minidynamo.disable(torch.nn.Linear(3, 3), recursive=False)


def test_disabled_class_keeps_its_methods_out() -> None:
    for recursive in (True, False):

        @minidynamo.disable(recursive=recursive)
        class Model:
            def __call__(self, x: torch.Tensor) -> torch.Tensor:
                return helper(x)

        minidynamo.reset()
        model = Model()
        assert torch.equal(minidynamo.optimize("eager")(lambda x: model(x) * 2)(X), X.sin() * 2)
        assert records()[0].reason == "disabled-function"
        assert len(debug.cache_entries(helper)) == (0 if recursive else 1)


def test_disable_holds_for_its_thread_only() -> None:
    captured = minidynamo.optimize("eager")(helper)
    inside: list[bool] = []

    @minidynamo.disable
    def quiet() -> None:
        thread = threading.Thread(target=captured, args=(X,))
        thread.start()
        thread.join()
        inside.append(bool(debug.cache_entries(helper)))

    quiet()
    assert inside == [True]


# torch's own marks


def test_torch_disable_is_respected() -> None:
    @torch.compiler.disable(reason="torch was told")
    def quiet(x: torch.Tensor) -> torch.Tensor:
        return helper(x)

    def f(x: torch.Tensor) -> torch.Tensor:
        return quiet(x) + 1

    assert torch.equal(minidynamo.optimize("eager")(f)(X), X.sin() + 1)
    record = records()[0]
    assert record.reason == "disabled-function" and record.detail.endswith("quiet is disabled: torch was told")
    assert record.line == f.__code__.co_firstlineno + 1
    assert debug.cache_entries(helper) == []


def test_wrapper_of_the_users_around_a_disabled_function_is_traced() -> None:
    for disable in (minidynamo.disable, torch.compiler.disable):
        quiet = disable(helper)

        @functools.wraps(quiet)  # copies torch's marks
        def wrapper(x: torch.Tensor, quiet: Callable[..., Any] = quiet) -> torch.Tensor:
            return quiet(x + 1)

        minidynamo.reset()
        assert torch.equal(minidynamo.optimize("eager")(wrapper)(X), (X + 1).sin())
        (record, *_) = records()
        assert record.reason == "disabled-function" and record.line == wrapper.__code__.co_firstlineno + 2


def test_torch_disable_not_recursively() -> None:
    @torch.compiler.disable(recursive=False)
    def quiet(x: torch.Tensor) -> torch.Tensor:
        return helper(x)

    assert torch.equal(minidynamo.optimize("eager")(lambda x: quiet(x) + 1)(X), X.sin() + 1)
    assert records()[0].reason == "disabled-function"


def test_torch_allow_in_graph_and_constant_results_are_respected() -> None:
    def rotated(x: torch.Tensor) -> torch.Tensor:
        return x.sin() + 1

    torch.compiler.allow_in_graph(rotated)

    @torch.compiler.assume_constant_result
    def width() -> int:
        return len(os.environ) * 0 + 4

    captured = whole(lambda x: rotated(x) * width())
    assert torch.equal(captured(X), (X.sin() + 1) * 4)
    assert targets(captured)[0] is rotated and len(targets(captured)) == 2


def test_marks_are_read_without_importing_torch_dynamo(tmp_path: pathlib.Path) -> None:
    program = """
        import sys, torch, minidynamo
        def width():
            return 3
        width._dynamo_marked_constant = True
        @minidynamo.disable
        def quiet(x):
            return x
        f = minidynamo.optimize("eager")(lambda x: quiet(x * width()))
        assert f(torch.ones(2)).tolist() == [3.0, 3.0]
        assert minidynamo.debug.uncaptured() or minidynamo.debug.graph_breaks()
        assert "torch._dynamo" not in sys.modules
    """
    run(program, tmp_path)


# skip


def run(program: str, folder: pathlib.Path, **environment: str) -> str:
    path = folder / "program.py"
    path.write_text(textwrap.dedent(program))
    # The modules beside the program, also where Python does not look there by itself (PYTHONSAFEPATH).
    places = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    environment = {"PYTHONPATH": places, **environment}
    done = subprocess.run(
        [sys.executable, str(path)], cwd=folder, capture_output=True, text=True, env=os.environ | environment, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def module_at(path: pathlib.Path, name: str) -> types.ModuleType:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("def shifted(x, callback=None):\n    return x + 1 if callback is None else callback(x + 1)\n")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def vendored(tmp_path: pathlib.Path) -> Iterator[types.ModuleType]:
    """rules_pkg.sub.deep, of which the two packages are namespaces."""
    folder = tmp_path / "rules_pkg" / "sub"
    for name, place in (("rules_pkg", folder.parent), ("rules_pkg.sub", folder)):
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__path__ = [str(place)]
    yield module_at(folder / "deep.py", "rules_pkg.sub.deep")
    for name in ("rules_pkg", "rules_pkg.sub", "rules_pkg.sub.deep"):
        del sys.modules[name]


@pytest.mark.parametrize("form", ["package", "subpackage", "module", "file", "directory", "path", "pattern"])
def test_skipped_code_is_neither_traced_nor_captured(form: str, vendored: types.ModuleType) -> None:
    file = pathlib.Path(str(vendored.__file__))
    rule: str | pathlib.Path = {
        "package": "rules_pkg",
        "subpackage": "rules_pkg.sub",
        "module": "rules_pkg.sub.deep",
        "file": str(file),
        "directory": str(file.parent.parent) + "/",
        "path": file.parent,
        "pattern": "*/rules_pkg/*.py",
    }[form]
    minidynamo.skip(rule)

    def f(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        return vendored.shifted(y, helper)

    assert torch.equal(minidynamo.optimize("eager")(f)(X), (X * 2 + 1).sin())
    record = records()[0]
    assert (record.reason, record.filename) == ("skipped-file", __file__)
    assert record.line == f.__code__.co_firstlineno + 2 and str(file) in record.detail
    assert debug.cache_entries(vendored.shifted) == [] and len(debug.cache_entries(helper)) == 1
    minidynamo.reset()
    assert torch.equal(minidynamo.optimize("eager")(f)(X), (X * 2 + 1).sin())
    assert records()[0].reason == "skipped-file"  # a rule outlives a reset
    minidynamo.unskip(rule)
    minidynamo.reset()
    assert torch.equal(whole(f)(X), (X * 2 + 1).sin())
    assert not records()


@pytest.mark.parametrize("rule", ["rules", "rules_pkg.su", "rules_pkg.sub.deep.er", "*/rules_pkg", "rules_pkg/sub"])
def test_rule_for_something_else_skips_nothing(rule: str, vendored: types.ModuleType) -> None:
    minidynamo.skip(rule)
    assert torch.equal(whole(lambda x: vendored.shifted(x))(X), X + 1)


def test_skipped_target_runs_as_it_was(vendored: types.ModuleType) -> None:
    minidynamo.skip("rules_pkg")
    assert torch.equal(minidynamo.optimize("eager")(vendored.shifted)(X), X + 1)
    (record,) = debug.uncaptured()
    assert record.reason == "skipped-file" and record.function == "shifted"


def test_module_that_is_imported_later_is_skipped(tmp_path: pathlib.Path) -> None:
    minidynamo.skip("rules_later")
    assert torch.equal(whole(helper)(X), X.sin())
    later = module_at(tmp_path / "rules_later.py", "rules_later")
    try:
        assert torch.equal(minidynamo.optimize("eager")(lambda x: later.shifted(x))(X), X + 1)
        assert records()[0].reason == "skipped-file"
    finally:
        del sys.modules["rules_later"]


def test_skip_list_is_a_setting(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    minidynamo.skip("pkg.sub", "here/x.py", pathlib.Path("there"), "*/a?/*", "pkg.sub")
    expected = ("pkg.sub", str(tmp_path / "here/x.py"), str(tmp_path / "there"), "*/a?/*")
    assert minidynamo.config.skip == expected == minidynamo.config.to_dict()["skip"]
    minidynamo.unskip("here/x.py", "*/a?/*")
    assert minidynamo.config.skip == ("pkg.sub", str(tmp_path / "there"))
    with minidynamo.config.patch(skip="one, two.three"):
        assert minidynamo.config.skip == ("one", "two.three")
    assert minidynamo.config.skip == ("pkg.sub", str(tmp_path / "there"))
    with pytest.raises(ValueError, match="'never' is not skipped"):
        minidynamo.unskip("never")
    for wrong in ("not a name", ""):
        with pytest.raises(ValueError):
            minidynamo.skip(wrong)
    for wrong_type in (3, ["pkg", 3]):
        with pytest.raises(TypeError, match=r"minidynamo\.config\.skip"):
            minidynamo.config.skip = wrong_type  # type: ignore[assignment]


def test_settings_patch_reaches_the_capture(vendored: types.ModuleType) -> None:
    f = minidynamo.optimize("eager")(lambda x: vendored.shifted(x))
    with minidynamo.config.patch(skip=("rules_pkg",)):
        f(X)
        assert records()[0].reason == "skipped-file"
    minidynamo.reset()
    f(X)
    assert not records()


def test_environment_names_what_is_skipped(tmp_path: pathlib.Path) -> None:
    (tmp_path / "vendor").mkdir()
    (tmp_path / "vendor" / "__init__.py").write_text("def shifted(x):\n    return x + 1\n")
    program = """
        import torch, vendor, minidynamo
        assert minidynamo.config.skip[0] == "vendor", minidynamo.config.skip
        minidynamo.optimize("eager")(lambda x: vendor.shifted(x))(torch.ones(2))
        print((minidynamo.debug.graph_breaks() + minidynamo.debug.uncaptured())[0].reason)
    """
    assert run(program, tmp_path, MINIDYNAMO_SKIP="vendor,lib/x.py") == "skipped-file\n"


def test_global_capture_leaves_skipped_and_disabled_code_alone(tmp_path: pathlib.Path) -> None:
    (tmp_path / "vendor.py").write_text("def shifted(x):\n    return x + 1\n")
    program = """
        import torch, vendor, minidynamo
        from minidynamo import debug
        from minidynamo._api import global_capture
        minidynamo.skip("vendor")
        def plain(x):
            return x * 2
        @minidynamo.disable
        def quiet(x):
            return plain(x)
        @torch.compiler.disable
        def torch_quiet(x):
            return plain(x)
        global_capture.start("eager")
        for f in (vendor.shifted, quiet, torch_quiet):
            f(torch.ones(2))
        print(len(debug.cache_entries(vendor.shifted)), len(debug.cache_entries(plain)))
        plain(torch.ones(2))
        print(len(debug.cache_entries(plain)))
        global_capture.stop()
    """
    assert run(program, tmp_path) == "0 0\n1\n"
