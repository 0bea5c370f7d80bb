"""The public functions: every way of wrapping, settings, reports, and the errors for wrong input."""

import functools
import inspect
import logging
import pickle
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from environments import run_python

import minidynamo
from minidynamo import _requirements
from minidynamo._capture.capture_config import capture_config


class Collector:
    """A backend that keeps the graphs that it was given and runs them as they are."""

    def __init__(self) -> None:
        self.graphs: list[torch.fx.GraphModule] = []
        self.inputs: list[list[torch.Tensor]] = []

    def __call__(self, graph_module: torch.fx.GraphModule, example_inputs: list[torch.Tensor]) -> Callable[..., Any]:
        self.graphs.append(graph_module)
        self.inputs.append(example_inputs)
        return graph_module.forward


@pytest.fixture
def collector() -> Collector:
    return Collector()


def operations(graph_module: torch.fx.GraphModule) -> list[torch.fx.Node]:
    return [node for node in graph_module.graph.nodes if node.op.startswith("call")]


X = torch.tensor([1.0, -2.0, 3.0])


# Ways of wrapping


def test_decorator_with_backend_name() -> None:
    @minidynamo.optimize("eager")
    def f(x: torch.Tensor) -> torch.Tensor:
        return x.relu() + 1

    assert torch.equal(f(X), X.relu() + 1)
    assert minidynamo.stats()["graphs"] == 1


def test_decorator_with_compiler(collector: Collector) -> None:
    @minidynamo.optimize(collector)
    def f(x: torch.Tensor) -> torch.Tensor:
        return x.relu() + 1

    assert torch.equal(f(X), X.relu() + 1)
    assert len(collector.graphs) == 1 and len(operations(collector.graphs[0])) == 2
    assert [tuple(example.shape) for example in collector.inputs[0]] == [(3,)]


def test_decorator_with_a_plain_function_as_compiler() -> None:
    seen = []

    def my_compiler(graph_module: torch.fx.GraphModule, example_inputs: list[torch.Tensor]) -> Callable[..., Any]:
        seen.append(graph_module)
        return graph_module.forward

    @minidynamo.optimize(my_compiler)
    def f(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    assert torch.equal(f(X), X * 2)
    assert len(seen) == 1


def test_compiler_with_settings(collector: Collector) -> None:
    f = minidynamo.optimize(collector, fullgraph=True)(lambda x: x - 1)
    assert torch.equal(f(X), X - 1)
    assert len(collector.graphs) == 1


@pytest.mark.slow
def test_bare_decorator_with_one_argument() -> None:
    @minidynamo.optimize
    def f(x: torch.Tensor) -> torch.Tensor:
        return x * 2 + 1

    assert f.__name__ == "f"
    torch.testing.assert_close(f(X), X * 2 + 1)
    assert minidynamo.stats()["graphs"] == 1


@pytest.mark.slow
def test_bare_decorator_with_two_arguments() -> None:
    """Looks like a backend, and shows at the first call that it is not."""

    @minidynamo.optimize
    def f(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x * y

    assert f.__name__ == "f"
    torch.testing.assert_close(f(X, X), X * X)
    torch.testing.assert_close(f(X, y=X), X * X)


@pytest.mark.slow
def test_bare_decorator_on_a_method() -> None:
    class Model:
        scale = 3

        @minidynamo.optimize
        def run(self, x: torch.Tensor) -> torch.Tensor:
            return x * self.scale

    torch.testing.assert_close(Model().run(X), X * 3)


def test_decorated_method_binds() -> None:
    class Model:
        def __init__(self, scale: int) -> None:
            self.scale = scale

        @minidynamo.optimize("eager")
        def run(self, x: torch.Tensor) -> torch.Tensor:
            """Scales."""
            return x * self.scale

    first, second = Model(2), Model(5)
    assert torch.equal(first.run(X), X * 2)
    assert torch.equal(second.run(X), X * 5)
    assert torch.equal(Model.run(first, X), X * 2)
    assert first.run.__doc__ == "Scales." and first.run.__self__ is first


def test_static_and_class_methods() -> None:
    class Model:
        scale = 4

        @staticmethod
        @minidynamo.optimize("eager")
        def double(x: torch.Tensor) -> torch.Tensor:
            return x * 2

        @classmethod
        @minidynamo.optimize("eager")
        def scaled(cls, x: torch.Tensor) -> torch.Tensor:
            return x * cls.scale

    assert torch.equal(Model.double(X), X * 2)
    assert torch.equal(Model().scaled(X), X * 4)


def test_bound_method() -> None:
    class Model:
        offset = 7

        def run(self, x: torch.Tensor, *, twice: bool = False) -> torch.Tensor:
            return (x + self.offset) * (2 if twice else 1)

    model = Model()
    run = minidynamo.optimize("eager")(model.run)
    assert torch.equal(run(X), X + 7)
    assert torch.equal(run(X, twice=True), (X + 7) * 2)
    model.offset = 1
    assert torch.equal(run(X), X + 1)


def test_other_callables() -> None:
    class Scale:
        def __call__(self, x: torch.Tensor) -> torch.Tensor:
            return x * 3

    optimize = minidynamo.optimize("eager")
    assert torch.equal(optimize(Scale())(X), X * 3)
    assert torch.equal(optimize(functools.partial(torch.add, alpha=2))(X, X), X + 2 * X)
    assert torch.equal(optimize(torch.relu)(X), X.relu())
    assert minidynamo.stats()["graphs"] == 3


def test_wrapper_looks_like_the_function() -> None:
    def f(x: torch.Tensor, n: int = 2, *, flag: bool = False) -> torch.Tensor:
        """Scales its input."""
        return x * n if flag else x

    f.note = "kept"  # type: ignore[attr-defined]
    g = minidynamo.optimize("eager")(f)
    assert (g.__name__, g.__doc__, g.__module__, g.__qualname__) == (f.__name__, f.__doc__, f.__module__, f.__qualname__)
    assert g.__wrapped__ is f and g.note == "kept"
    assert inspect.signature(g) == inspect.signature(f)
    assert callable(g) and weakref.ref(g)() is g


def test_calling_conventions() -> None:
    @minidynamo.optimize("eager")
    def f(a: Any, /, b: Any, *rest: Any, c: Any = 1, **more: Any) -> Any:
        return a + b * c + sum(rest) + sum(more.values())

    assert torch.equal(f(X, 2), X + 2)
    assert torch.equal(f(X, b=X, c=3), X + X * 3)
    assert torch.equal(f(X, 2, X, 4, c=5, d=X), X + 10 + X + 4 + X)
    with pytest.raises(TypeError, match=r"f\(\) missing 1 required positional argument: 'b'"):
        f(X)
    with pytest.raises(TypeError, match=r"f\(\) missing 1 required positional argument: 'a'"):
        f(a=X, b=2)


def test_second_wrapping_wins(collector: Collector) -> None:
    first = minidynamo.optimize("eager")(lambda x: x + 1)
    second = minidynamo.optimize(collector)(first)
    assert torch.equal(second(X), X + 1)
    assert len(collector.graphs) == 1


def test_compile_as_decorator_and_function(collector: Collector) -> None:
    @minidynamo.compile(backend=collector, fullgraph=True, dynamic=False, name="mine")
    def f(x: torch.Tensor) -> torch.Tensor:
        return x.cos()

    g = minidynamo.compile(lambda x: x.sin(), backend=collector)
    assert torch.equal(f(X), X.cos()) and torch.equal(g(X), X.sin())
    assert len(collector.graphs) == 2


def test_compile_has_the_parameters_of_torch_compile() -> None:
    ours, theirs = inspect.signature(minidynamo.compile).parameters, inspect.signature(torch.compile).parameters
    # The old name of fullgraph; and of one parameter, the name that it has in other versions of torch.
    own = {"nopython", *({"dynamic_shapes", "shapes_spec"} - set(theirs))}
    assert [name for name in ours if name not in own] == list(theirs)
    assert [ours[name].kind for name in theirs] == [parameter.kind for parameter in theirs.values()]


def test_compile_disabled_gives_the_function_back() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x

    assert minidynamo.compile(f, disable=True) is f
    assert minidynamo.compile(disable=True)(f) is f
    with minidynamo.config.patch(disabled=True):
        assert minidynamo.optimize("eager")(f) is f


def test_options_reach_the_backend() -> None:
    seen: dict[str, Any] = {}

    def backend(graph_module: torch.fx.GraphModule, example_inputs: Any, **settings: Any) -> Any:
        seen.update(settings)
        return graph_module.forward

    minidynamo.optimize(backend, options={"level": 3})(lambda x: x + 1)(X)
    assert seen == {"options": {"level": 3}}


def test_registered_backend() -> None:
    calls = []

    @minidynamo.register_backend(name="test_api_backend")
    def backend(graph_module: torch.fx.GraphModule, example_inputs: Any) -> Any:
        calls.append(graph_module)
        return graph_module.forward

    assert "test_api_backend" in minidynamo.list_backends()
    minidynamo.optimize("test_api_backend")(lambda x: x + 1)(X)
    assert len(calls) == 1


# Entries, and what decides about a second one


def test_second_call_uses_the_entry(collector: Collector) -> None:
    f = minidynamo.optimize(collector)(lambda x: x + 1)
    for _ in range(3):
        f(X)
    assert len(collector.graphs) == 1
    (entry,) = minidynamo.debug.cache_entries(f)
    assert entry.hits == 2
    assert entry.graph is not None and entry.graph_module is not None
    assert isinstance(entry.code, types.CodeType)
    assert entry.guards and all(isinstance(guard, str) for guard in entry.guards)
    assert entry.source and f"entry {entry.id} of" in str(entry)


def test_equal_settings_share_entries_and_others_do_not(collector: Collector) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    minidynamo.optimize(collector)(f)(X)
    minidynamo.optimize(collector)(f)(X)
    assert len(collector.graphs) == 1
    minidynamo.optimize("eager")(f)(X)
    assert minidynamo.stats()["graphs"] == 2
    assert len(minidynamo.debug.cache_entries(f)) == 2


def test_configurations_are_interned() -> None:
    def backend(graph_module: torch.fx.GraphModule, example_inputs: Any, options: Any = None) -> Any:
        return graph_module.forward

    one = capture_config(backend, fullgraph=True, options={"a": 1})
    assert capture_config(backend, fullgraph=True, options={"a": 1}) is one
    assert capture_config(backend, fullgraph=True, options={"a": True}) is not one
    assert capture_config(backend, fullgraph=False, options={"a": 1}) is not one
    assert pickle.loads(pickle.dumps(capture_config("eager"))) is capture_config("eager")


def test_reset_forgets_entries(collector: Collector) -> None:
    f = minidynamo.optimize(collector)(lambda x: x + 1)
    f(X)
    minidynamo.reset()
    assert minidynamo.debug.cache_entries(f) == []
    assert minidynamo.stats()["graphs"] == 0
    f(X)
    assert len(collector.graphs) == 2


def test_recompile_limit(collector: Collector) -> None:
    f = minidynamo.compile(lambda x, n: x + n, backend=collector, recompile_limit=2, dynamic=False)
    for n in range(5):
        assert torch.equal(f(X, n), X + n)
    assert len(collector.graphs) == 2
    assert any("recompile" in record.reason for record in minidynamo.debug.uncaptured())


def test_cache_entries_of_other_things() -> None:
    f = minidynamo.optimize("eager")(lambda x: x + 1)
    f(X)
    assert len(minidynamo.debug.cache_entries(f.__wrapped__)) == 1
    assert len(minidynamo.debug.cache_entries(f.__wrapped__.__code__)) == 1
    with pytest.raises(TypeError, match="no Python code"):
        minidynamo.debug.cache_entries(len)


# disable, is_compiling, stats


def test_is_compiling_is_true_inside_only() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x + (1 if minidynamo.is_compiling() else 2) + (10 if torch.compiler.is_compiling() else 20)

    assert torch.equal(minidynamo.optimize("eager")(f)(X), X + 11)
    assert torch.equal(f(X), X + 22)
    assert not minidynamo.is_compiling()


def test_disabled_function_is_not_captured(collector: Collector) -> None:
    @minidynamo.disable(reason="not today")
    def quiet(x: torch.Tensor) -> torch.Tensor:
        return captured(x) * 2

    captured = minidynamo.optimize(collector)(lambda x: x + 1)
    assert torch.equal(quiet(X), (X + 1) * 2)
    assert collector.graphs == []
    assert quiet._minidynamo_disable_reason == "not today"
    assert torch.equal(captured(X), X + 1)
    assert len(collector.graphs) == 1


def test_disabled_function_breaks_the_graph_around_it(collector: Collector) -> None:
    quiet = minidynamo.disable(lambda x: x * 2)
    f = minidynamo.optimize(collector)(lambda x: quiet(x + 1) - 1)
    assert torch.equal(f(X), (X + 1) * 2 - 1)
    for graph_module in collector.graphs:
        assert all("mul" not in str(node.target) for node in operations(graph_module))


def test_disabled_class_and_module() -> None:
    @minidynamo.disable
    class Thing:
        def __init__(self, x: torch.Tensor) -> None:
            self.x = x
            self.compiling = minidynamo.is_compiling()

    assert not Thing(X).compiling
    module = minidynamo.disable(torch.nn.Linear(3, 2))
    assert isinstance(module, minidynamo.OptimizedModule)
    assert module(X).shape == (2,)
    assert minidynamo.stats()["graphs"] == 0


def test_disabled_class_that_inherits_its_call(collector: Collector) -> None:
    class Base:
        def __call__(self, x: torch.Tensor) -> torch.Tensor:
            return x + minidynamo.is_compiling()

    class Module(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + minidynamo.is_compiling()

    kept_out: list[Any] = [type("Derived", (base,), {}) for base in (Base, Module)]
    for derived in kept_out:
        assert minidynamo.disable(derived) is derived
        called = derived()
        f = minidynamo.optimize(collector)(lambda x: called(x.cos()).cos())
        assert torch.equal(f(X), X.cos().cos())
        assert [record.reason for record in minidynamo.debug.graph_breaks()] == ["disabled-function"]
        minidynamo.reset()
    before = len(collector.graphs)
    minidynamo.optimize(collector)(called)(X)
    assert torch.equal(minidynamo.optimize(collector)(torch.nn.Sequential(called))(X), X)
    assert len(collector.graphs) == before
    for base in (Base, Module):  # the classes above it are captured
        other = base()
        assert torch.equal(minidynamo.optimize("eager", fullgraph=True)(lambda x: other(x))(X), X + 1)


def test_stats_names() -> None:
    minidynamo.optimize("eager")(lambda x: x + 1)(X)
    stats = minidynamo.stats()
    assert stats["frames"] >= 1 and stats["captured"] == 1 and stats["graphs"] == 1 and stats["entries"] == 1
    assert stats["guards"] >= 1 and stats["operators"] >= 1 and stats["graph_breaks"] == {}
    assert stats["phases"]["backend"] > 0
    assert all(isinstance(seconds, float) and seconds >= 0 for seconds in stats["phases"].values())


# explain


def test_explain_reports_graph_operations_and_guards() -> None:
    def f(x: torch.Tensor, n: int) -> torch.Tensor:
        return (x.sin() + n).sin()

    report = minidynamo.explain(f)(X, 3)
    assert torch.equal(report.result, (X.sin() + 3).sin())
    assert (report.graph_count, report.op_count, report.graph_break_count) == (1, 3, 0)
    assert sorted(name.rsplit(".", 1)[-1] for name in report.operators[0]) == ["add", "sin", "sin"]
    assert any("n" in guard and "3" in guard for guards in report.guards for guard in guards)
    text = str(report)
    assert text.startswith("1 graph, 3 operations, 0 breaks") and "2 x sin" in text and "guards of entry 0" in text


def test_explain_names_reason_and_place_of_a_break() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        if y.sum() > 0:
            y = y * 2
        return y

    report = minidynamo.explain(f)(X)
    assert report.graph_break_count >= 1
    broken = report.breaks[0]
    assert broken.filename == __file__ and broken.line == f.__code__.co_firstlineno + 2
    assert broken.reason and broken.detail and broken.function.endswith("f")
    assert f"{__file__}:{broken.line}" in str(report)


def test_explain_changes_nothing_outside_of_itself(collector: Collector) -> None:
    def helper(x: torch.Tensor) -> torch.Tensor:
        return x.sin()

    def breaks(x: torch.Tensor) -> torch.Tensor:
        y = helper(x)
        minidynamo.graph_break()
        return y + 1

    f, g = minidynamo.optimize(collector)(breaks), minidynamo.optimize(collector)(helper)
    for _ in range(2):
        f(X), g(X)

    def state() -> Any:
        codes = minidynamo.debug.codes_of(f, resumed=True) + minidynamo.debug.codes_of(g)
        entries = [(entry.code, entry.hits) for code in codes for entry in minidynamo.debug.cache_entries(code)]
        return entries, minidynamo.stats(), minidynamo.debug.uncaptured(), minidynamo.debug.graph_breaks()

    before, compiled = state(), len(collector.graphs)
    report = minidynamo.explain(f)(X)
    assert (report.graph_count, report.graph_break_count, len(report.entries)) == (2, 1, 2)
    assert minidynamo.explain(breaks)(X).graph_count == 2
    with pytest.raises(RuntimeError):
        minidynamo.explain(f)(X.reshape(1, 3) @ X.reshape(1, 3))
    assert state() == before
    f(X), g(X)
    assert len(collector.graphs) == compiled


def test_explain_takes_modules_and_wrappers() -> None:
    module = torch.nn.Linear(3, 2)
    assert minidynamo.explain(module)(X).graph_count == 1
    assert minidynamo.explain(minidynamo.optimize("eager")(module))(X).graph_count == 1
    assert minidynamo.explain(minidynamo.optimize("eager")(torch.relu))(X).graph_count == 1


# Wrong input


def test_unknown_backend_lists_the_known_ones() -> None:
    with pytest.raises(minidynamo.InvalidBackend, match=r"unknown backend 'inducter'.*aot_eager.*inductor"):
        minidynamo.optimize("inducter")


@pytest.mark.parametrize("target", [3, "text", None, [1]])
def test_target_that_cannot_be_called(target: Any) -> None:
    with pytest.raises(TypeError, match="optimize needs a function, method or module, got"):
        minidynamo.optimize("eager")(target)


def test_backend_of_a_wrong_type() -> None:
    with pytest.raises(TypeError, match="backend"):
        minidynamo.optimize(3)  # type: ignore[call-overload]


def test_options_of_wrong_types() -> None:
    with pytest.raises(TypeError, match="fullgraph must be a bool"):
        minidynamo.optimize("eager", fullgraph=1)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="dynamic must be None or a bool"):
        minidynamo.optimize("eager", dynamic="yes")  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="options must be a dict"):
        minidynamo.optimize("eager", options=[1])  # type: ignore[call-overload]
    with pytest.raises(RuntimeError, match="mode or options"):
        minidynamo.compile(mode="default", options={})
    with pytest.raises(ValueError, match="recompile_limit must be at least 1"):
        minidynamo.compile(recompile_limit=0)
    for argument in ("dynamic_shapes", "shapes_spec"):
        with pytest.raises(ValueError, match=argument):
            minidynamo.compile(**{argument: object()})


def test_backend_that_returns_something_else() -> None:
    f = minidynamo.optimize(lambda graph_module, example_inputs: 3)(lambda x: x + 1)
    with pytest.raises(minidynamo.BackendCompilerFailed, match="must return a callable"):
        f(X)


def broken_backend(graph_module: torch.fx.GraphModule, example_inputs: Any) -> Any:
    torch.manual_seed(99)
    torch.set_grad_enabled(False)
    raise OSError("no compiler")


def test_backend_that_raises() -> None:
    f = minidynamo.optimize(broken_backend)(lambda x: x + 1)
    state = torch.get_rng_state()
    with pytest.raises(minidynamo.BackendCompilerFailed, match=r"broken_backend.*\n.*OSError: no compiler") as caught:
        f(X)
    assert isinstance(caught.value.inner_exception, OSError)
    assert isinstance(caught.value.__cause__, OSError)
    assert torch.is_grad_enabled() and torch.equal(torch.get_rng_state(), state)


def test_suppressed_backend_error_runs_the_frame_eagerly(caplog: pytest.LogCaptureFixture) -> None:
    f = minidynamo.optimize(broken_backend)(lambda x: x + 1)
    with minidynamo.config.patch(suppress_errors=True), caplog.at_level(logging.WARNING, "minidynamo"):
        assert torch.equal(f(X), X + 1)
    assert "no compiler" in caplog.text


def test_fullgraph_names_what_could_not_be_captured() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x * 2 if x.sum() > 0 else x

    with pytest.raises(minidynamo.Unsupported, match=r"test_api\.py"):
        minidynamo.optimize("eager", fullgraph=True)(f)(X)
    assert torch.equal(minidynamo.optimize("eager")(f)(X), X * 2)


# Settings and logs


def test_config_checks_names_and_types() -> None:
    config = minidynamo.config
    with pytest.raises(AttributeError, match=r"no setting 'supress_errors' \(did you mean suppress_errors\?\); settings are"):
        config.supress_errors = True  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="suppress_errors must be a bool, got 1"):
        config.suppress_errors = 1  # type: ignore[assignment]
    with pytest.raises(ValueError, match="recompile_limit must be at least 1, got 0"):
        config.recompile_limit = 0
    with pytest.raises(ValueError, match=r"unknown topics grahp \(did you mean graph\?\); known are captures, breaks"):
        config.logs = "grahp"  # type: ignore[assignment]
    with pytest.raises(AttributeError, match="cannot be deleted"):
        del config.recompile_limit


def test_config_patch_restores_and_checks_before_it_sets() -> None:
    config = minidynamo.config
    before = config.to_dict()
    with config.patch(suppress_errors=True, recompile_limit=3):
        assert config.suppress_errors and config.recompile_limit == 3
    with pytest.raises(RuntimeError, match="inside"), config.patch(suppress_errors=True):
        raise RuntimeError("inside")
    with pytest.raises(TypeError), config.patch(recompile_limit=5, suppress_errors="no"):
        pass
    assert config.to_dict() == before

    @config.patch(recompile_limit=1)
    def limited() -> int:
        return config.recompile_limit

    assert limited() == 1 and config.to_dict() == before


def test_logged_topics(caplog: pytest.LogCaptureFixture) -> None:
    def f(x: torch.Tensor, n: int) -> torch.Tensor:
        return x.relu() * n

    def broken(x: torch.Tensor) -> torch.Tensor:
        return x if x.sum() > 0 else -x

    with minidynamo.config.patch(logs="graph, guards, code, info, dynamic"), caplog.at_level(logging.DEBUG, "minidynamo"):
        optimized = minidynamo.optimize("eager")(f)
        optimized(X, 2)
        optimized(X, 3)
        minidynamo.optimize("eager")(broken)(X)
    texts = {record.name: record.getMessage() for record in caplog.records}
    of_inductor = {"artifacts", "regions"}
    assert set(texts) == {f"minidynamo.{topic}" for topic in minidynamo.config.LOG_TOPICS if topic not in of_inductor}
    assert any("relu" in record.getMessage() for record in caplog.records if record.name == "minidynamo.graph")
    assert "test_api.py" in texts["minidynamo.breaks"]


def test_nothing_is_logged_unasked(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "minidynamo"):
        minidynamo.optimize("eager")(lambda x: x + 1)(X)
    assert caplog.records == []


def test_logs_from_the_environment() -> None:
    code = "import torch, minidynamo; minidynamo.optimize('eager')(lambda x: x.sin())(torch.ones(2))"
    done = run_python(code, MINIDYNAMO_LOGS="graph")
    assert done.returncode == 0, done.stderr
    assert "[minidynamo.graph]" in done.stderr and "sin" in done.stderr
    assert "unknown topics" in run_python("import minidynamo", MINIDYNAMO_LOGS="nonsense").stderr


# Import


def test_import_loads_nothing_heavy() -> None:
    code = """
import sys, torch
before = set(sys.modules)
import minidynamo
heavy = [name for name in set(sys.modules) - before if name.startswith(("torch._dynamo", "torch._inductor", "sympy"))]
assert not heavy, heavy
"""
    done = run_python(code)
    assert done.returncode == 0, done.stderr


def test_eager_capture_never_loads_dynamo() -> None:
    code = """
import sys, torch, minidynamo
minidynamo.optimize("eager")(lambda x: x.sin() + 1)(torch.ones(2))
assert "torch._dynamo" not in sys.modules and "torch._inductor" not in sys.modules
"""
    done = run_python(code)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "versions, sentence",
    [
        (("CPython", (3, 11), "2.13.0+cpu"), None),
        (("CPython", (3, 11), "2.13.1"), None),
        (("CPython", (3, 10), None), "minidynamo needs CPython 3.11, 3.12, 3.13 or 3.14, and this is CPython 3.10."),
        (
            ("free-threaded CPython", (3, 14), None),
            "minidynamo needs CPython 3.11, 3.12, 3.13 or 3.14, and this is free-threaded CPython 3.14.",
        ),
        (("PyPy", (3, 11), None), "minidynamo needs CPython 3.11, 3.12, 3.13 or 3.14, and this is PyPy 3.11."),
        (("CPython", (3, 11), "2.12.0"), "minidynamo needs torch 2.13, 2.14 or 2.15, and torch 2.12.0 is installed."),
        (("CPython", (3, 12), "2.15.0+cu130", "2.15.1"), None),
        (("CPython", (3, 12), "2.16.0"), "minidynamo needs torch 2.13, 2.14 or 2.15, and torch 2.16.0 is installed."),
        (("CPython", (3, 11), "2.1.3"), "minidynamo needs torch 2.13, 2.14 or 2.15, and torch 2.1.3 is installed."),
        (("CPython", (3, 11), "2.13.1+cpu", "2.13.0+cu130"), None),
        (
            ("CPython", (3, 11), "2.14.1+cpu", "2.13.0"),
            "minidynamo was built for torch 2.13, and torch 2.14.1+cpu is installed: install minidynamo anew.",
        ),
    ],
)
def test_requirements(versions: tuple[Any, ...], sentence: str | None) -> None:
    assert _requirements.unmet(*versions) == sentence


def test_import_without_the_gil_fails_with_one_sentence() -> None:
    done = run_python("import sys; sys.abiflags = 't'; import minidynamo")
    assert done.returncode == 1
    assert f"and this is free-threaded CPython 3.{sys.version_info[1]}." in done.stderr.splitlines()[-1]


def test_import_with_an_unsupported_torch_fails_with_one_sentence() -> None:
    done = run_python("import torch; torch.__version__ = '2.4.1'; import minidynamo")
    assert done.returncode == 1
    assert done.stderr.strip().endswith("ImportError: minidynamo needs torch 2.13, 2.14 or 2.15, and torch 2.4.1 is installed.")


def test_public_names_exist() -> None:
    assert all(hasattr(minidynamo, name) for name in minidynamo.__all__)


def test_import_leaves_what_few_programs_use_for_later() -> None:
    """Half of the time that an import of everything takes."""
    done = run_python(
        "import sys, minidynamo\n"
        "later = ('_api.explain', '_artifacts', '_background', '_report', '_repro', '_verify', 'backends._inductor', 'backends._eager')\n"
        "print([name for name in later if f'minidynamo.{name}' in sys.modules])\n"
        "from minidynamo import *\n"
        "print(report.__module__, verify.__module__, hasattr(minidynamo, 'no_such_name'), 'explain' in dir(minidynamo))"
    )
    assert done.stdout.splitlines() == ["[]", "minidynamo._report minidynamo._verify False True"], done.stderr
