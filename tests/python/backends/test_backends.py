"""Backends on graphs made by hand: results, gradients, buffer updates and random numbers are eager's."""

import inspect
import operator
import subprocess
import sys
import traceback
from importlib.metadata import EntryPoint

import pytest
import torch
import torch.nn.functional as F

import minidynamo
from minidynamo.backends import _registry, list_backends, register_backend, resolve
from minidynamo.backends._inductor import inductor
from minidynamo.exceptions import BackendCompilerFailed, InvalidBackend, MinidynamoError

FAST = ["eager", "python", "ts", "aot_eager"]
ALL = [*FAST, "inductor"]


def graph_module(build):
    """A module for the graph that `build` fills; `build` returns the output nodes."""
    graph = torch.fx.Graph()
    outputs = build(graph)
    graph.output(tuple(outputs))
    return torch.fx.GraphModule({}, graph)


def mlp():
    def build(graph):
        x, w1, b1, w2 = (graph.placeholder(name) for name in ("x", "w1", "b1", "w2"))
        hidden = graph.call_function(torch._C._nn.linear, (x, w1, b1))
        hidden = graph.call_function(F.relu, (hidden,), {"inplace": False})
        hidden = graph.call_function(operator.add, (hidden, 1))
        out = graph.call_function(operator.matmul, (hidden, w2))
        out = graph.call_method("view", (out, -1))
        return [out, graph.call_method("sum", (hidden,), {"dim": 0, "keepdim": True})]

    return graph_module(build)


def mlp_inputs():
    torch.manual_seed(0)
    parameters = [torch.nn.Parameter(torch.randn(*shape)) for shape in ((5, 3), (5,), (5, 2))]
    return [torch.randn(4, 3, requires_grad=True), *parameters]


@pytest.fixture(autouse=True)
def registry():
    saved = dict(_registry._registered)
    yield
    _registry._registered.clear()
    _registry._registered.update(saved)


@pytest.mark.parametrize("backend", ALL)
def test_results_and_gradients(backend):
    compiled = resolve(backend)(mlp(), mlp_inputs())
    for _ in range(3):
        expected_inputs, inputs = mlp_inputs(), mlp_inputs()
        expected, got = mlp()(*expected_inputs), compiled(*inputs)
        assert type(got) in (tuple, list) and len(got) == len(expected)
        for a, b in zip(got, expected):
            torch.testing.assert_close(a, b)
        sum(out.square().sum() for out in expected).backward()
        sum(out.square().sum() for out in got).backward()
        for a, b in zip(inputs, expected_inputs):
            torch.testing.assert_close(a.grad, b.grad)


@pytest.mark.parametrize("backend", ALL)
def test_without_gradients(backend):
    inputs = mlp_inputs()
    expected = mlp()(*inputs)
    with torch.no_grad():
        got = resolve(backend)(mlp(), inputs)(*inputs)
    assert not any(out.requires_grad for out in got)
    for a, b in zip(got, expected):
        torch.testing.assert_close(a, b)


def batch_norm():
    def build(graph):
        x, weight, bias, mean, var, count = (graph.placeholder(name) for name in ("x", "weight", "bias", "mean", "var", "count"))
        graph.call_method("add_", (count, 1))
        out = graph.call_function(F.batch_norm, (x, mean, var, weight, bias, True, 0.1, 1e-5))
        return [out]

    return graph_module(build)


def batch_norm_inputs():
    torch.manual_seed(1)
    return [
        torch.randn(6, 3, 4, 4),
        torch.nn.Parameter(torch.rand(3)),
        torch.nn.Parameter(torch.rand(3)),
        torch.zeros(3),
        torch.ones(3),
        torch.tensor(0),
    ]


@pytest.mark.parametrize("backend", ALL)
def test_buffers_are_updated_in_place_and_compiling_leaves_them_alone(backend):
    example = batch_norm_inputs()
    compiled = resolve(backend)(batch_norm(), example)
    for left, fresh in zip(example, batch_norm_inputs()):
        assert torch.equal(left, fresh)
    expected_inputs, inputs = batch_norm_inputs(), batch_norm_inputs()
    for step in range(1, 4):
        (expected,), (got,) = batch_norm()(*expected_inputs), compiled(*inputs)
        torch.testing.assert_close(got, expected)
        assert inputs[5].item() == step
    expected.sum().backward()
    got.sum().backward()
    for a, b in zip(inputs, expected_inputs):
        torch.testing.assert_close(a, b)
        if b.grad is not None:
            torch.testing.assert_close(a.grad, b.grad, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("backend", FAST)
def test_random_numbers_are_those_of_eager(backend):
    def build(graph):
        x = graph.placeholder("x")
        return [graph.call_function(F.dropout, (x,), {"p": 0.5, "training": True})]

    x = torch.ones(64, requires_grad=True)
    torch.manual_seed(7)
    state = torch.get_rng_state()
    compiled = resolve(backend)(graph_module(build), [x])
    assert torch.equal(torch.get_rng_state(), state)
    (got,) = compiled(x)
    after = torch.get_rng_state()
    torch.set_rng_state(state)
    (expected,) = graph_module(build)(x)
    assert torch.equal(torch.get_rng_state(), after)
    assert torch.equal(got, expected)


def test_inductor_dropout_drops_about_half_and_its_gradient_agrees():
    def build(graph):
        x = graph.placeholder("x")
        return [graph.call_function(F.dropout, (x,), {"p": 0.5, "training": True})]

    x = torch.ones(4096, requires_grad=True)
    (out,) = resolve("inductor")(graph_module(build), [x])(x)
    assert set(out.unique().tolist()) == {0.0, 2.0}
    assert 0.4 < (out == 0).float().mean() < 0.6
    out.sum().backward()
    assert torch.equal(x.grad, out.detach())


@pytest.mark.parametrize("backend", ALL)
def test_a_graph_that_switches_grad_mode(backend):
    def build(graph):
        x = graph.placeholder("x")
        graph.call_function(torch._C._set_grad_enabled, (False,))
        constant = graph.call_function(torch.sin, (x,))
        graph.call_function(torch._C._set_grad_enabled, (True,))
        return [graph.call_function(operator.mul, (x, constant)), constant]

    x = torch.randn(3, requires_grad=True)
    if backend == "ts":
        with pytest.raises(BackendCompilerFailed, match="_set_grad_enabled"):
            resolve(backend)(graph_module(build), [x])
        return
    out, constant = resolve(backend)(graph_module(build), [x])(x)
    assert torch.is_grad_enabled() and not constant.requires_grad
    out.sum().backward()
    torch.testing.assert_close(x.grad, x.detach().sin())


@pytest.mark.parametrize("backend", ALL)
def test_views_of_inputs_alias_them(backend):
    def build(graph):
        x = graph.placeholder("x")
        return [graph.call_method("view", (x, -1)), graph.call_function(torch.neg, (x,))]

    x = torch.randn(2, 3)
    view, negative = resolve(backend)(graph_module(build), [x])(x)
    assert view.data_ptr() == x.data_ptr() and torch.equal(negative, -x)


@pytest.mark.parametrize("backend", [name for name in ALL if name != "ts"])
def test_a_graph_without_outputs_still_has_its_effects(backend):
    def build(graph):
        graph.call_method("add_", (graph.placeholder("x"), 1))
        return []

    x = torch.zeros(2)
    assert len(resolve(backend)(graph_module(build), [torch.zeros(2)])(x)) == 0
    assert x.tolist() == [1, 1]


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiling_does_not_change_the_graph(backend):
    module = mlp()
    before = str(module.graph)
    meta = [dict(node.meta) for node in module.graph.nodes]
    resolve(backend)(module, mlp_inputs())
    assert str(module.graph) == before and meta == [dict(node.meta) for node in module.graph.nodes]


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_the_compiler_knows_which_inputs_are_parameters_and_buffers(backend, monkeypatch):
    from torch._functorch import aot_autograd

    seen = []
    prepare = aot_autograd.prepare_aot_config

    def spy(*args, **kwargs):
        result = prepare(*args, **kwargs)
        seen.append(result[-1].static_input_indices)
        return result

    monkeypatch.setattr(aot_autograd, "prepare_aot_config", spy)
    module = batch_norm()
    for node in module.graph.find_nodes(op="placeholder"):
        if node.name in ("mean", "var", "count"):
            node.meta["source"] = f"L['self']._buffers['{node.name}']"
    resolve(backend)(module, batch_norm_inputs())
    assert seen == [[1, 2, 3, 4, 5]]


# The `python` backend


def test_python_backend_gives_a_readable_plain_function():
    def build(graph):
        x, y = graph.placeholder("x"), graph.placeholder("y")
        x.meta["stack_trace"] = y.meta["stack_trace"] = None
        total = graph.call_function(operator.add, (x, y))
        total.meta["stack_trace"] = '  File "model.py", line 3, in forward\n    total = x + y\n'
        part = graph.call_function(operator.getitem, (total, (slice(None, 2), Ellipsis, None)))
        power = graph.call_function(operator.pow, (-2.0, part))
        cast = graph.call_method("to", (power, torch.float64), {"non_blocking": True})
        graph.call_function(operator.setitem, (cast, 0, float("inf")))
        negative = graph.call_function(operator.neg, (cast,))
        pieces = graph.call_function(torch.split, (negative, [1, 1]))
        return [graph.call_function(operator.getitem, (pieces, 1))]

    inputs = [torch.tensor([1.0, 2.0, 3.0]), torch.ones(3)]
    function = resolve("python")(graph_module(build), inputs)
    assert inspect.isfunction(function)
    assert inspect.getsource(function) == (
        "def graph(x, y):\n"
        '    # File "model.py", line 3, in forward: total = x + y\n'
        "    add = x + y; del x, y\n"
        "    getitem = add[:2, ..., None]; del add\n"
        "    pow_1 = operator_pow(-2.0, getitem); del getitem\n"
        "    to = pow_1.to(torch_float64, non_blocking=True); del pow_1\n"
        "    to[0] = inf\n"
        "    neg = -to; del to\n"
        "    split = torch_functional_split(neg, [1, 1]); del neg\n"
        "    getitem_1 = split[1]; del split\n"
        "    return (getitem_1,)\n"
    )
    (out,) = function(*inputs)
    assert out.tolist() == [[8.0]] and out.dtype == torch.float64


def test_python_backend_shows_the_failing_line():
    function = resolve("python")(mlp(), mlp_inputs())
    with pytest.raises(RuntimeError) as caught:
        function(torch.zeros(4, 9), *mlp_inputs()[1:])
    assert "linear = torch__C__nn_linear(x, w1, b1)" in "".join(traceback.format_exception(caught.value))


def test_python_backend_keeps_no_source_of_a_dead_function():
    import gc
    import linecache

    function = resolve("python")(mlp(), mlp_inputs())
    filename = function.__code__.co_filename
    assert filename in linecache.cache
    del function
    gc.collect()
    assert filename not in linecache.cache


def test_python_backend_names_do_not_clash():
    def build(graph):
        x, relu = graph.placeholder("x"), graph.placeholder("relu")
        first = graph.call_function(F.relu, (x,))
        return [graph.call_function(torch.relu, (first,)), graph.call_function(torch.add, (relu, first), {"alpha": 3})]

    x, y = torch.randn(3), torch.randn(3)
    first, second = resolve("python")(graph_module(build), [x, y])(x, y)
    assert torch.equal(first, x.relu())
    torch.testing.assert_close(second, y + 3 * x.relu())


# Names, options, errors


def test_registering():
    @register_backend
    def one(graph_module, example_inputs):
        return graph_module.forward

    @register_backend(name="second")
    def two(graph_module, example_inputs):
        return graph_module.forward

    @register_backend("third")
    def three(graph_module, example_inputs):
        return graph_module.forward

    assert register_backend("fourth", one) is one and register_backend(one, "fifth") is one
    assert register_backend(name="sixth", compiler=one) is one
    assert {"one", "second", "third", "fourth", "fifth", "sixth", *ALL} <= set(list_backends())
    assert list_backends() == sorted(list_backends())
    inputs = mlp_inputs()
    for name in ("one", "second", "third", "fourth"):
        torch.testing.assert_close(resolve(name)(mlp(), inputs)(*inputs), mlp()(*inputs))
    with pytest.raises(TypeError, match="must be a callable, got int"):
        register_backend("seventh", 3)
    with pytest.raises(TypeError, match="needs a name"):
        register_backend(compiler=type("Nameless", (), {"__call__": lambda self, gm, inputs: gm})())


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(InvalidBackend, match="did you mean 'inductor'") as caught:
        resolve("inducter")
    assert isinstance(caught.value, ValueError) and isinstance(caught.value, MinidynamoError)
    assert all(name in str(caught.value) for name in ALL)
    with pytest.raises(TypeError, match="a name or a callable, got int"):
        resolve(3)


@pytest.mark.parametrize("group", ["minidynamo_backends", "torch_dynamo_backends"])
def test_installed_packages_announce_backends(group, monkeypatch):
    import importlib.metadata as metadata

    points = {
        group: [
            EntryPoint("announced", "minidynamo.backends._eager:eager", group),
            EntryPoint("broken", "minidynamo.no_such_module:nothing", group),
        ]
    }
    monkeypatch.setattr(metadata, "entry_points", lambda group: points.get(group, []))
    assert "announced" in list_backends()
    inputs = mlp_inputs()
    torch.testing.assert_close(resolve("announced")(mlp(), inputs)(*inputs), mlp()(*inputs))
    with pytest.raises(BackendCompilerFailed, match="backend='broken' raised"):
        resolve("broken")


def test_a_failing_backend_is_named_and_its_error_kept():
    def broken(graph_module, example_inputs):
        raise KeyError("no such device")

    with pytest.raises(BackendCompilerFailed, match=r"broken.*raised:\nKeyError: 'no such device'") as caught:
        resolve(broken)(mlp(), mlp_inputs())
    assert isinstance(caught.value.inner_exception, KeyError)
    assert caught.value.__cause__ is caught.value.inner_exception
    import pickle

    again = pickle.loads(pickle.dumps(BackendCompilerFailed("x", ValueError("y"))))
    assert str(again) == "backend='x' raised:\nValueError: y"


@pytest.mark.parametrize(("result", "said"), [(None, "this one returned None"), (3, "an object of type int")])
def test_a_backend_that_returns_no_callable(result, said):
    with pytest.raises(BackendCompilerFailed, match=f"must return a callable, .*{said}") as caught:
        resolve(lambda graph_module, example_inputs: result)(mlp(), mlp_inputs())
    assert isinstance(caught.value.inner_exception, TypeError)


def test_the_boxed_calling_convention_is_honoured():
    taken = []

    def boxed(graph_module, example_inputs):
        def run(inputs):
            taken.append(inputs)
            result = graph_module(*inputs)
            inputs.clear()
            return result

        run._boxed_call = True
        return run

    inputs = mlp_inputs()
    torch.testing.assert_close(resolve(boxed)(mlp(), inputs)(*inputs), mlp()(*inputs))
    assert taken == [[]]


def test_mode_and_options_reach_a_backend_that_takes_them():
    seen = {}

    def mine(graph_module, example_inputs, **settings):
        seen.update(settings)
        return graph_module.forward

    resolve(mine, mode="fast", options={"level": 3})(mlp(), mlp_inputs())
    assert seen == {"mode": "fast", "options": {"level": 3}}
    seen.clear()
    resolve(mine)(mlp(), mlp_inputs())
    assert seen == {}
    with pytest.raises(ValueError, match="'eager' has no modes and no options"):
        resolve("eager", mode="max-autotune")
    resolve("eager", mode="default", options={})(mlp(), mlp_inputs())


def test_inductor_modes_and_options(monkeypatch):
    import torch._inductor.compile_fx as compile_fx

    monkeypatch.setattr(minidynamo.config, "artifacts", False)

    seen = []
    original = compile_fx.compile_fx

    def spy(*args, config_patches=None, **kwargs):
        if config_patches is not None:  # it calls itself, without, once they are in force
            seen.append(config_patches)
        return original(*args, config_patches=config_patches, **kwargs)

    monkeypatch.setattr(compile_fx, "compile_fx", spy)
    inputs = mlp_inputs()
    for settings in ({"mode": "reduce-overhead"}, {"mode": "max-autotune-no-cudagraphs"}, {"mode": "default"}):
        got = resolve("inductor", **settings)(mlp(), inputs)(*inputs)
        torch.testing.assert_close(got, mlp()(*inputs))
    assert seen[0] == {"triton.cudagraphs": True}
    assert seen[1]["max_autotune"] is True and seen[2] == {}
    with torch.no_grad():
        resolve("inductor", mode="reduce-overhead", options={"triton.cudagraphs": False, "epilogue-fusion": False})(mlp(), inputs)
    assert seen[-1] == {"triton.cudagraphs": False, "epilogue_fusion": False}
    with pytest.raises(ValueError, match="unknown mode 'fastest'; known modes: default"):
        resolve("inductor", mode="fastest")
    with pytest.raises(ValueError, match="no option 'no_such_thing'"):
        resolve("inductor", options={"no_such_thing": 1})
    with pytest.raises(TypeError, match="'max_autotune' is of type bool, got 'yes'"):
        resolve("inductor", options={"max_autotune": "yes"})


def test_importing_backends_imports_no_compiler():
    code = (
        "import sys, torch\n"
        "import minidynamo.backends as b\n"
        "b.list_backends(); b.resolve('inductor'); b.resolve('aot_eager')\n"
        "print([m for m in ('torch._dynamo', 'torch._inductor.compile_fx') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=None)
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize("kind", [torch.optim.AdamW, torch.optim.SGD, torch.optim.Adagrad])
def test_what_a_backend_refuses_is_captured_in_another_form(kind):
    """AOTAutograd has no fake form of fused optimizers: other front ends leave these out of graphs."""
    results = []
    for is_captured in (False, True):
        torch.manual_seed(0)
        layer = torch.nn.Linear(3, 2)
        optimizer = kind(layer.parameters(), lr=0.1, fused=True)

        def step(x, layer=layer, optimizer=optimizer):
            optimizer.zero_grad()
            loss = layer(x).pow(2).sum()
            loss.backward()
            optimizer.step()
            return loss.detach()

        function = minidynamo.compile(step, backend="aot_eager") if is_captured else step
        losses = [function(torch.ones(4, 3)).item() for _ in range(3)]
        results.append((losses, [p.tolist() for p in layer.parameters()]))
        if is_captured:
            assert minidynamo.debug.cache_entries(function)
    torch.testing.assert_close(results[1], results[0])


def test_an_error_of_the_backend_that_no_other_form_mends_is_raised():
    def refuses(graph_module, example_inputs):
        raise ValueError("not here")

    def step(w, x):
        (w * x).sum().backward()
        return w.grad

    captured = minidynamo.compile(step, backend=refuses)
    with pytest.raises(minidynamo.BackendCompilerFailed, match="not here"):
        captured(torch.ones(2, requires_grad=True), torch.ones(2))


@pytest.mark.parametrize("layer", [torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN])
def test_a_recurrent_layer_runs_between_two_graphs_where_a_backend_would_take_it_apart(layer):
    torch.manual_seed(0)
    model = torch.nn.ModuleList([torch.nn.Linear(3, 4), layer(4, 5), torch.nn.Linear(5, 2)])

    def forward(x):
        first, recurrent, last = model
        return last(recurrent(first(x).relu())[0]).sum()

    x = torch.randn(6, 2, 3)
    expected = forward(x)
    gradients = torch.autograd.grad(expected, list(model.parameters()))
    operators = {}
    for backend in ("eager", "aot_eager"):
        minidynamo.reset()
        function = minidynamo.compile(forward, backend=backend)
        loss = function(x)
        torch.testing.assert_close(loss, expected)
        torch.testing.assert_close(torch.autograd.grad(loss, list(model.parameters())), gradients)
        operators[backend] = [one.reason for one in minidynamo.debug.graph_breaks()]
    assert operators == {"eager": [], "aot_eager": ["recurrent-layer"]}


def test_autocast_is_known_to_a_backend_that_traces_the_graph_again():
    from torch.fx.experimental.proxy_tensor import make_fx

    seen = []

    def backend(graph_module, example_inputs):
        seen.append([node.target.__name__ for node in graph_module.graph.nodes if node.op == "call_function"])
        return make_fx(graph_module, pre_dispatch=True)(*example_inputs)

    def f(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = x @ x
            with torch.autocast("cpu", enabled=False):
                z = x @ x
            w = y @ x
        return y, z, w, x @ x

    x = torch.randn(3, 3)
    captured = minidynamo.compile(f, backend=backend, fullgraph=True)
    for _ in range(2):
        assert [one.dtype for one in captured(x)] == [one.dtype for one in f(x)]
        torch.testing.assert_close(captured(x), f(x))
    assert [name for name in seen[0] if "autocast" in name] == ["_enter_autocast"] * 2 + ["_exit_autocast"] * 2
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert [one.dtype for one in captured(x)] == [one.dtype for one in f(x)]


def test_a_region_of_autocast_that_a_graph_does_not_leave_stays_as_it_is():
    seen = []

    def backend(graph_module, example_inputs):
        seen.append([node.target.__name__ for node in graph_module.graph.nodes if node.op == "call_function"])
        return graph_module.forward

    def f(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            with torch.autocast("cpu", enabled=False):
                y = x @ x
            minidynamo.graph_break()
            z = x @ x
        return y, z, x @ x

    x = torch.randn(3, 3)
    captured = minidynamo.compile(f, backend=backend)
    assert [one.dtype for one in captured(x)] == [one.dtype for one in f(x)]
    assert seen[0].count("_enter_autocast") == seen[0].count("_exit_autocast") == 1
    assert "set_autocast_enabled" in seen[0]


def test_inductor_leaves_the_recursion_limit_as_it_is():
    """It raises the limit, forward and backward, and a program that reads it would be captured and compiled again."""
    graphs = []

    def counting(graph_module, example_inputs):
        graphs.append(graph_module)
        return inductor(graph_module, example_inputs)

    def f(x):
        return (x * 2).sum() if sys.getrecursionlimit() < 2000 else x.sum()

    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1500)
    try:
        optimized = minidynamo.compile(f, backend=counting)
        for _ in range(3):
            x = torch.ones(4, requires_grad=True)
            optimized(x).backward()
            assert torch.equal(x.grad, torch.full((4,), 2.0))
            assert sys.getrecursionlimit() == 1500
    finally:
        sys.setrecursionlimit(before)
    assert len(graphs) == 1
