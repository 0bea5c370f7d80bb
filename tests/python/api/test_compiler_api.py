"""The directives of torch.compiler, and ours like them: stances, environment variables, reset, default backends, rules for
functions, parts of a program in which breaks are errors, names of settings."""

import contextlib
import operator
import os
import pathlib
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pytest
import torch
import torch._dynamo

import minidynamo
from minidynamo import config

X = torch.tensor([1.0, -2.0, 3.0])


class Counter:
    """A backend that counts its graphs and their runs."""

    def __init__(self) -> None:
        self.graphs = 0
        self.runs = 0

    def __call__(self, graph_module: torch.fx.GraphModule, example_inputs: list[torch.Tensor]) -> Callable[..., Any]:
        self.graphs += 1

        def run(*inputs: torch.Tensor) -> Any:
            self.runs += 1
            return graph_module.forward(*inputs)

        return run


@pytest.fixture(autouse=True)
def default_stance() -> Iterator[None]:
    yield
    torch.compiler.set_stance("default")
    torch.compiler.set_default_backend(None)


def double(x: torch.Tensor) -> torch.Tensor:
    return x * 2 + 1


def broken(x: torch.Tensor) -> torch.Tensor:
    y = x.sin() + 1
    if y.sum() > 0:
        y = y * 2
    return y.cos()


def check(f: Callable[..., Any], x: torch.Tensor = X) -> None:
    plain = f.__wrapped__ if hasattr(f, "__wrapped__") else f
    torch.testing.assert_close(f(x), plain(x), rtol=0, atol=0)


# Stances


def test_force_eager_uses_nothing_and_makes_nothing() -> None:
    counter = Counter()
    f = minidynamo.compile(double, backend=counter)
    check(f)
    torch.compiler.set_stance("force_eager")
    check(f)
    check(f, torch.ones(2))
    check(minidynamo.compile(broken, backend=counter, fullgraph=True))
    assert (counter.graphs, counter.runs) == (1, 1)
    torch.compiler.set_stance("default")
    check(f)
    assert (counter.graphs, counter.runs) == (1, 2)


def test_eager_on_recompile() -> None:
    counter = Counter()
    f = minidynamo.compile(broken, backend=counter)
    check(f)
    graphs, runs = counter.graphs, counter.runs
    with torch.compiler.set_stance("eager_on_recompile"):
        check(f)
        assert (counter.graphs, counter.runs) == (graphs, 2 * runs)
        check(f, torch.ones(5))
        check(minidynamo.compile(double, backend=counter, fullgraph=True))
    assert (counter.graphs, counter.runs) == (graphs, 2 * runs)
    check(f, torch.ones(5))
    assert counter.graphs > graphs


def test_fail_on_recompile() -> None:
    f = minidynamo.compile(double, backend="eager")
    check(f)
    with torch.compiler.set_stance("fail_on_recompile"):
        check(f)
        with pytest.raises(minidynamo.RecompileError, match=r"double.*test_compiler_api\.py.*\n.*failed guard.*size") as caught:
            f(torch.ones(7))
        assert isinstance(caught.value, RuntimeError)
        with pytest.raises(RuntimeError, match="has not been captured yet"):
            minidynamo.compile(broken, backend="eager")(X)
    check(f, torch.ones(7))


def test_advice_of_fail_on_recompile_helps() -> None:
    """It says to make all kinds of calls before the stance is set."""
    f = minidynamo.compile(double, backend="eager")
    with torch.compiler.set_stance("fail_on_recompile"), pytest.raises(minidynamo.RecompileError, match="make all kinds of calls"):
        f(X)
    check(f)
    check(f, torch.ones(7))
    with torch.compiler.set_stance("fail_on_recompile"):
        check(f)
        check(f, torch.ones(7))


@pytest.mark.parametrize("function", [double, broken])
def test_eager_then_compile(function: Callable[..., Any]) -> None:
    counter = Counter()
    f = minidynamo.compile(function, backend=counter)
    with torch.compiler.set_stance("eager_then_compile"):
        check(f)
        assert counter.graphs == 0
        check(f)
        graphs = counter.graphs
        assert graphs == (1 if function is double else 2)
        check(f)
        assert counter.graphs == graphs


def test_aot_eager_then_compile() -> None:
    counter = Counter()
    x = X.clone().requires_grad_()
    f = minidynamo.compile(double, backend=counter)
    with torch.compiler.set_stance("aot_eager_then_compile"):
        f(x).sum().backward()  # type: ignore[no-untyped-call]
        assert counter.graphs == 0 and minidynamo.stats()["graphs"] == 1
        assert x.grad is not None and torch.equal(x.grad, torch.full((3,), 2.0))
        check(f, x)
        check(f, x)
    assert (counter.graphs, counter.runs) == (1, 2)


def test_force_backend() -> None:
    counter, forced = Counter(), Counter()
    f = minidynamo.compile(broken, backend=counter)
    check(f)
    with torch.compiler.set_stance("default", force_backend=forced):
        check(f)
        check(f)
        check(minidynamo.compile(double, backend="eager"))
    assert (counter.graphs, forced.graphs) == (2, 3) and (counter.runs, forced.runs) == (2, 5)
    check(f)
    assert counter.runs == 4
    with torch.compiler.set_stance("default", force_backend="eager"):
        check(f)
    assert counter.runs == 4
    with pytest.raises(RuntimeError, match="force_backend"):
        torch.compiler.set_stance("force_eager", force_backend="eager")


def test_stances_nest_and_decorate() -> None:
    counter = Counter()
    f = minidynamo.compile(double, backend=counter)

    @torch.compiler.set_stance("force_eager")  # type: ignore[untyped-decorator]
    def eagerly(x: torch.Tensor) -> Any:
        with torch.compiler.set_stance("default"):
            f(x)
        return f(x)

    for expected in (1, 2):
        assert torch.equal(eagerly(X), double(X))
        assert (counter.graphs, counter.runs) == (1, expected)
    with contextlib.suppress(ValueError), torch.compiler.set_stance("force_eager"):
        raise ValueError
    f(X)
    assert counter.runs == 3


def test_a_stance_set_inside_of_a_captured_function() -> None:
    counter = Counter()

    @torch.compiler.set_stance("force_eager")  # type: ignore[untyped-decorator]
    def eagerly(x: torch.Tensor) -> torch.Tensor:
        return helper(x) + 1

    def helper(x: torch.Tensor) -> torch.Tensor:
        return x.exp()

    def outer(x: torch.Tensor) -> torch.Tensor:
        return eagerly(x * 2) - 3  # type: ignore[no-any-return]

    f = minidynamo.compile(outer, backend=counter)
    check(f)
    graphs = counter.graphs
    check(f)
    assert counter.graphs == graphs == 2
    with pytest.raises(minidynamo.Unsupported, match="set_stance") as caught:
        minidynamo.compile(outer, backend="eager", fullgraph=True)(X)
    assert caught.value.reason == "capture-control" and caught.value.filename == __file__


def test_skip_guard_eval_is_taken_and_guards_go_on() -> None:
    f = minidynamo.compile(double, backend="eager")
    with torch.compiler.set_stance("default", skip_guard_eval_unsafe=True):
        check(f)
        check(f, torch.ones(5))
        check(f)


def test_an_unknown_stance_is_named() -> None:
    f = minidynamo.compile(double, backend="eager")
    torch.compiler.set_stance("force_eger")
    with pytest.raises(RuntimeError, match=r"'force_eger'.*force_eager"):
        f(X)


def test_a_stance_holds_for_other_threads() -> None:
    counter = Counter()
    f = minidynamo.compile(double, backend=counter)
    torch.compiler.set_stance("force_eager")
    thread = threading.Thread(target=f, args=(X,))
    thread.start()
    thread.join()
    assert counter.graphs == 0


def test_stances_and_modules() -> None:
    counter = Counter()
    model = minidynamo.compile(torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU()), backend=counter)
    with torch.compiler.set_stance("force_eager"):
        model(X)
    assert counter.graphs == 0
    model(X)
    assert counter.graphs == 1


# run


def test_run_uses_what_there_is() -> None:
    counter = Counter()
    f = minidynamo.compile(double, backend=counter)
    only = minidynamo.run(f)
    assert torch.equal(only(X), double(X)) and counter.graphs == 0
    f(X)
    assert torch.equal(only(X), double(X)) and (counter.graphs, counter.runs) == (1, 2)
    assert torch.equal(only(torch.ones(9)), double(torch.ones(9))) and (counter.graphs, counter.runs) == (1, 2)
    with pytest.raises(TypeError, match="run needs a function"):
        minidynamo.run(3)  # type: ignore[arg-type]


# Recompiles that are errors


def test_error_on_recompile() -> None:
    f = minidynamo.compile(double, backend="eager")
    with config.patch(error_on_recompile=True):
        check(f)
        check(f)
        with pytest.raises(minidynamo.RecompileError, match="error_on_recompile"):
            f(torch.ones(5))
    check(f, torch.ones(5))


def test_fail_on_recompile_limit() -> None:
    f = minidynamo.compile(lambda x, n: x + n, backend="eager", recompile_limit=2, dynamic=False)
    with config.patch(fail_on_recompile_limit=True):
        f(X, 1)  # type: ignore[no-untyped-call]
        f(X, 2)  # type: ignore[no-untyped-call]
        for _ in range(2):
            with pytest.raises(minidynamo.RecompileError, match=r"fail_on_recompile_limit(.|\n)*recompile_limit"):
                f(X, 3)  # type: ignore[no-untyped-call]
        assert torch.equal(f(X, 2), X + 2)  # type: ignore[no-untyped-call]
    assert torch.equal(f(X, 3), X + 3)  # type: ignore[no-untyped-call]


# Graph breaks that are errors


@pytest.mark.parametrize("manager", [minidynamo.error_on_graph_break, torch._dynamo.error_on_graph_break])
def test_breaks_are_errors_around_a_call(manager: Callable[[bool], Any]) -> None:
    f = minidynamo.compile(broken, backend="eager")
    with manager(True):
        for _ in range(2):
            with pytest.raises(minidynamo.Unsupported) as caught:
                f(X)
        assert caught.value.reason == "data-dependent-branch" and caught.value.line == broken.__code__.co_firstlineno + 2
        check(minidynamo.compile(double, backend="eager"))
    check(f)
    with manager(True):
        check(f)  # the existing entries are used
        with manager(False):
            check(f, torch.ones(2))


@pytest.mark.parametrize("manager", [minidynamo.error_on_graph_break, torch._dynamo.error_on_graph_break])
def test_breaks_are_errors_inside(manager: Callable[[bool], Any]) -> None:
    def f(x: torch.Tensor, strict: bool) -> torch.Tensor:
        x = x + 1
        minidynamo.graph_break()
        if strict:
            with manager(True):
                x = x * 2
                with manager(False):
                    minidynamo.graph_break()
                x = x.sin()
                minidynamo.graph_break()
        return x.cos()

    captured = minidynamo.compile(f, backend="eager")
    assert torch.equal(captured(X, False), f(X, False))
    for _ in range(2):
        with pytest.raises(minidynamo.Unsupported, match="graph break") as caught:
            captured(X, True)
    assert caught.value.line == f.__code__.co_firstlineno + 9
    assert torch.equal(captured(X, False), f(X, False))
    check(minidynamo.compile(broken, backend="eager"))  # the setting is forgotten with the call


@pytest.mark.parametrize("manager", [minidynamo.error_on_graph_break, torch._dynamo.error_on_graph_break])
def test_breaks_are_errors_in_one_graph_and_as_a_decorator(manager: Callable[[bool], Any]) -> None:
    counter = Counter()

    @manager(True)  # type: ignore[untyped-decorator]
    def inner(x: torch.Tensor) -> torch.Tensor:
        return x.sin()

    def f(x: torch.Tensor) -> torch.Tensor:
        with manager(True):
            x = x + 1
        return inner(x) * 2  # type: ignore[no-any-return]

    captured = minidynamo.compile(f, backend=counter)
    for _ in range(3):
        assert torch.equal(captured(X), f(X))
    assert counter.graphs == 1
    assert minidynamo.compile(f, backend="eager", fullgraph=True)(X).equal(f(X))
    assert not minidynamo._C.error_on_graph_break()


# Rules for functions


def test_disallow_in_graph() -> None:
    counter = Counter()
    minidynamo.disallow_in_graph(torch.sub)
    try:
        f = minidynamo.compile(lambda x: torch.sub(x + 1, 1) + 1, backend=counter)
        check(f)
        assert counter.graphs == 2
    finally:
        minidynamo.remove_rule(torch.sub)


def test_disallow_in_graph_of_torch_is_respected() -> None:
    counter = Counter()
    torch._dynamo.disallow_in_graph(torch.sub)
    try:
        f = minidynamo.compile(lambda x: torch.sub(x + 1, 1) + 1, backend=counter)
        check(f)
        assert counter.graphs == 2
    finally:
        torch._dynamo.allow_in_graph(torch.sub)  # type: ignore[no-untyped-call]


def index_of(a: Any, b: Any, /) -> int:
    for i, item in enumerate(a):
        if item is b or item == b:
            return i
    raise ValueError("sequence.index(x): x not in sequence")


@pytest.mark.parametrize("register", [minidynamo.substitute_in_graph, torch.compiler.substitute_in_graph])
def test_substitute_in_graph(register: Any) -> None:
    import _bisect

    calls = []

    def insort(a: Any, x: Any, lo: int = 0, hi: Any = None, *, key: Any = None) -> None:
        calls.append(x)
        a.append(x)
        a.sort()

    stand_in = register(_bisect.insort_right, skip_signature_check=True)(insort)

    def f(x: torch.Tensor) -> torch.Tensor:
        numbers = [1, 4]
        _bisect.insort_right(numbers, 2)
        stand_in(numbers, 3)
        return x * numbers[1] + numbers[2]

    try:
        assert torch.equal(f(X), X * 2 + 3) and not calls  # the original, outside of captures
        assert torch.equal(minidynamo.compile(f, backend="eager", fullgraph=True)(X), X * 2 + 3) and calls == [2, 3]
    finally:
        if register is minidynamo.substitute_in_graph:
            assert minidynamo.remove_rule(_bisect.insort_right)
        else:
            from torch._dynamo.variables.functions import PolyfilledFunctionVariable

            PolyfilledFunctionVariable._get_polyfill_handlers().pop(_bisect.insort_right)


def test_substitute_in_graph_checks() -> None:
    with pytest.raises(TypeError, match="other arguments"):
        minidynamo.substitute_in_graph(operator.indexOf)(lambda x: x)
    with pytest.raises(TypeError, match="Python function"):
        minidynamo.substitute_in_graph(operator.indexOf)(len)
    with pytest.raises(TypeError, match="class"):
        minidynamo.substitute_in_graph(dict)


# reset


@pytest.mark.parametrize("reset", [torch.compiler.reset, torch._dynamo.reset, minidynamo.reset])
def test_reset(reset: Callable[[], None]) -> None:
    counter = Counter()
    f = minidynamo.compile(double, backend=counter)
    for expected in (1, 2, 3):
        check(f)
        check(f)
        assert counter.graphs == expected
        reset()


@pytest.mark.parametrize("reset", [torch.compiler.reset, torch._dynamo.reset, minidynamo.reset])
def test_reset_inside(reset: Callable[[], None]) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        y = x.sin()
        reset()
        return y.cos()

    captured = minidynamo.compile(f, backend="eager")
    check(captured)
    check(captured)
    with pytest.raises(minidynamo.Unsupported, match=r"reset\(\) forgets"):
        minidynamo.compile(f, backend="eager", fullgraph=True)(X)


# Backends


def test_default_backend() -> None:
    counter = Counter()
    torch.compiler.set_default_backend(counter)
    check(minidynamo.compile(double))
    check(minidynamo.optimize(lambda x: x + 2))
    assert counter.graphs == 2 and torch.compiler.get_default_backend() is counter
    torch.compiler.set_default_backend("eager")
    assert minidynamo.compile(double).config.backend_name == "eager"  # type: ignore[attr-defined]
    torch.compiler.set_default_backend(None)
    assert minidynamo.compile(double).config.backend_name == "inductor"  # type: ignore[attr-defined]


NEEDS_A_PACKAGE = {"tvm": "tvm", "openxla": "torch_xla", "openxla_eval": "torch_xla"}
# torch.compile cannot call these by their names either.
NEEDS_MORE = {
    "aot_eager_decomp_partition_with_mode": "'mode'",
    "dynamo_accuracy_minifier_backend": "'compiler_name'",
    "dynamo_minifier_backend": "'compiler_name'",
}


def relu(x: torch.Tensor) -> torch.Tensor:
    return (x * 2).relu() + 1


@pytest.mark.parametrize("name", sorted(torch._dynamo.list_backends(None)))
def test_every_backend_of_torch(name: str) -> None:
    assert name in minidynamo.list_backends(None)
    function = double if "TESTING_ONLY" in name else relu
    captured = minidynamo.compile(function, backend=name)
    if missing := {**NEEDS_A_PACKAGE, **NEEDS_MORE}.get(name):
        with pytest.raises(minidynamo.BackendCompilerFailed, match=missing):
            captured(X)
        return
    if name == "non_leaf_compile_error_TESTING_ONLY":
        with pytest.raises(minidynamo.BackendCompilerFailed):
            captured(X.clone().requires_grad_() * 1)
    torch.testing.assert_close(captured(X), function(X))
    assert minidynamo.stats()["graphs"] == 1


def test_list_backends() -> None:
    assert "relu_compile_error_TESTING_ONLY" not in minidynamo.list_backends()
    assert set(torch._dynamo.list_backends(())) <= set(minidynamo.list_backends(None))


# Wrapping


def test_optimize_and_compile_take_the_same_settings() -> None:
    import inspect

    def names(function: Callable[..., Any]) -> set[str]:
        return {p.name for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY} - {"backend"}

    assert names(minidynamo.optimize) == names(minidynamo.compile) == set(minidynamo._api.optimize.Settings.__annotations__)
    assert names(torch.compile) <= names(minidynamo.compile)


def test_nopython_is_fullgraph() -> None:
    with pytest.raises(minidynamo.Unsupported):
        minidynamo.optimize("eager", nopython=True)(broken)(X)
    with pytest.raises(TypeError, match="nopython must be a bool"):
        minidynamo.optimize("eager", nopython=1)  # type: ignore[call-overload]


def test_disable_hands_the_target_back() -> None:
    for make in (minidynamo.optimize("eager", disable=True), minidynamo.compile(backend="eager", disable=True)):
        assert make(double) is double
        with make:
            double(X)
    assert minidynamo.compile(double, disable=True) is double
    assert minidynamo.stats()["graphs"] == 0


@pytest.mark.parametrize("make", [lambda c: minidynamo.optimize(c), lambda c: minidynamo.compile(backend=c)])
def test_as_a_context_manager(make: Callable[[Any], Any]) -> None:
    counter = Counter()
    region = make(counter)
    with region:
        assert torch.equal(double(X), X * 2 + 1)
        assert counter.graphs == 1
        with region:
            double(X)
        double(X)
        assert (counter.graphs, counter.runs) == (1, 3)
        with contextlib.suppress(ValueError), region:
            raise ValueError
    double(X)
    assert counter.runs == 3
    assert minidynamo._C.hook_owner() != "minidynamo"


def test_a_context_manager_is_left_where_it_was_entered() -> None:
    region = minidynamo.optimize("eager")
    region.__enter__()
    errors = []

    def leave() -> None:
        try:
            region.__exit__(None, None, None)
        except RuntimeError as error:
            errors.append(str(error))

    thread = threading.Thread(target=leave)
    thread.start()
    thread.join()
    assert "another thread" in errors[0]
    region.__exit__(None, None, None)
    double(X)
    assert minidynamo.stats()["graphs"] == 0 and minidynamo._C.hook_owner() != "minidynamo"


def test_class_decorator_of_a_module() -> None:
    counter = Counter()

    @minidynamo.compile(backend=counter)
    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(3, 3)

        def forward(self, x: torch.Tensor) -> Any:
            return self.linear(x).relu()

    model = Model()
    seen = []
    model.register_forward_hook(lambda *args: seen.append(args[0]))
    out = model(X)
    assert torch.equal(out, model.linear(X).relu()) and counter.graphs >= 1 and seen == [model]
    out.sum().backward()
    assert model.linear.weight.grad is not None
    assert list(model.state_dict()) == ["linear.weight", "linear.bias"]
    assert isinstance(model, Model)

    class Derived(Model):
        pass

    Derived()(X)
    assert counter.runs >= 2


def test_class_decorator_of_a_class_that_inherits_its_call() -> None:
    class Base:
        def __call__(self, x: torch.Tensor) -> torch.Tensor:
            return x * 3

    @minidynamo.optimize("eager")
    class Thing(Base):
        pass

    assert torch.equal(Thing()(X), X * 3) and minidynamo.stats()["graphs"] == 1
    Base()(X)
    assert minidynamo.stats()["cache_hits"] == 0
    with pytest.raises(TypeError, match="no __call__"):
        minidynamo.optimize("eager")(type("Empty", (), {}))


# Settings


def test_old_names_of_settings_say_what_ours_are() -> None:
    with pytest.raises(AttributeError, match="cache_size_limit': torch's setting of that name is called recompile_limit here"):
        config.cache_size_limit = 3  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="is called fail_on_recompile_limit here"):
        _ = config.fail_on_recompile_limit_hit  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="needs no setting"):
        config.dynamic_shapes = True  # type: ignore[attr-defined]
    known = set(config.to_dict())
    assert all(not ours or ours in known for ours in config.TORCH_NAMES.values())
    assert not known & set(config.TORCH_NAMES)


@pytest.mark.parametrize("variable", ["TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE"])
def test_environment_variables_that_disable(variable: str) -> None:
    program = (
        "import torch, minidynamo\n"
        "f = lambda x: x + 1\n"
        "assert minidynamo.config.disabled\n"
        "assert minidynamo.compile(f) is f and minidynamo.optimize('eager')(f) is f\n"
        "with minidynamo.optimize('eager'):\n    f(torch.ones(1))\n"
        "assert minidynamo.stats()['graphs'] == 0\n"
    )
    environment = {**os.environ, variable: "1"}
    done = subprocess.run([sys.executable, "-P", "-c", program], env=environment, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("variable", ["TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE"])
@pytest.mark.parametrize("package", ["torch", "minidynamo"])
def test_a_program_disables_after_its_imports(variable: str, package: str) -> None:
    program = (
        "import os, torch, minidynamo\n"
        f"os.environ[{variable!r}] = '1'\n"
        "seen = []\n"
        "def backend(graph_module, inputs):\n    seen.append(graph_module)\n    return graph_module.forward\n"
        f"{package}.compile(lambda x: x + 1, backend=backend)(torch.ones(1))\n"
        "assert not seen\n"
    )
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", [name for name in dir(torch.compiler) if name.endswith("_unsafe")])
def test_filters_of_guards_are_taken(name: str) -> None:
    options = {"guard_filter_fn": getattr(torch.compiler, name)}
    f = minidynamo.compile(double, backend="eager", options=options)
    check(f)
    check(f, torch.ones(5))
    minidynamo.compile(double, options=options)  # inductor, which has no such option


# torch.compiler as a whole

PAGE = pathlib.Path(__file__).parents[3] / "docs" / "torch_compile.md"


def test_the_page_names_all_of_torch_compiler() -> None:
    found = re.findall(r"^\| `torch\.compiler\.(\w+)[^`]*` \| (.+?) \| (?:from torch 2\.(\d+) on)?", PAGE.read_text(), re.MULTILINE)
    running = int(torch.__version__.split(".")[1])
    rows = {name: says for name, says, since in found if int(since or 0) <= running}
    public = {name for name in dir(torch.compiler) if not name.startswith("_") and is_own(name)}
    assert set(rows) == public
    answers = {says for _, says, _ in found}
    assert answers <= {"same", "same; see below", "works on torch's part alone", "taken, and without effect", "missing"}


def is_own(name: str) -> bool:
    """Not what the module has imported for itself."""
    value = getattr(torch.compiler, name)
    is_defined_there = getattr(value, "__module__", "") == "torch.compiler" and not isinstance(value, TypeVar)
    return name == "config" or name in torch.compiler.__all__ or is_defined_there
