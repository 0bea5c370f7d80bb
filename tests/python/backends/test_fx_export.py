"""Captured graphs are ordinary torch.fx graphs: whatever a user of torch.fx does with one works, with eager's results."""

import copy
import inspect
import operator
import pickle

import pytest
import torch
import torch.fx
import torch.nn.functional as F
from torch.fx.passes.shape_prop import ShapeProp, TensorMetadata

import minidynamo


def capture(target, *inputs):
    """The graph module that a backend gets for a call, the inputs it was given, and what the call returned."""
    seen = []

    def collect(graph_module, example_inputs):
        seen.append((graph_module, list(example_inputs)))
        return graph_module.forward

    result = minidynamo.optimize(backend=collect, fullgraph=True)(target)(*inputs)
    assert len(seen) == 1
    return *seen[0], result


def elementwise(x, y):
    return torch.relu(x) * 2 + y.sin()


def names_of_builtins(x, y):
    return torch.abs(x).sum(dim=0), torch.max(y), torch.pow(x, 2), torch.all(y > 0)


def several_results(x, y):
    first, second = torch.split(x, [1, 3])
    values, indices = torch.max(y, dim=1)
    return torch.cat([second, first]), values + indices


def indexing(x, y):
    return x[:2, None, ..., 1:], y[[0, 2]], x[..., -1]


def constants(x, y):
    moved = x.to(torch.float64, copy=True)
    filled = torch.full_like(y, float("inf")).masked_fill(y > 0, -1.5)
    return moved.sum(dtype=torch.float32), filled, torch.zeros(2, 3, dtype=torch.int64, device=torch.device("cpu"))


def negative_base(x, y):
    return (-2.0) ** x, 2 ** (-y)


def in_place(x, y):
    z = x.clone()
    z += y
    z[0] = 3.0
    z.mul_(2)
    return z


def functional(x, y):
    hidden = F.linear(x, y, bias=None)
    return F.softmax(F.gelu(F.layer_norm(hidden, (hidden.shape[-1],))), dim=-1)


def dead_code(x, y):
    torch.exp(x)
    kept = x.cos()
    y.tan()
    return kept


PROGRAMS = [elementwise, names_of_builtins, several_results, indexing, constants, negative_base, in_place, functional, dead_code]


def make_inputs():
    torch.manual_seed(3)
    return torch.randn(4, 4), torch.randn(4, 4)


def flat(result):
    return result if isinstance(result, tuple) else (result,)


@pytest.fixture(params=PROGRAMS, ids=lambda program: program.__name__)
def captured(request):
    module, examples, result = capture(request.param, *make_inputs())
    return module, examples, flat(request.param(*make_inputs())), flat(result)


def same(got, expected):
    assert isinstance(got, tuple)
    # The order in which a graph returns its results is its own affair.
    remaining = list(got)
    for wanted in expected:
        found = [
            i
            for i, t in enumerate(remaining)
            if t.shape == wanted.shape and t.dtype == wanted.dtype and torch.allclose(t, wanted, equal_nan=True)
        ]
        assert found, f"no output equals {wanted}"
        remaining.pop(found[0])


def test_the_call_gives_what_eager_gives(captured):
    _, _, expected, result = captured
    for got, wanted in zip(result, expected, strict=True):
        torch.testing.assert_close(got, wanted, equal_nan=True)


def test_source_is_generated_on_first_use():
    seen = []

    def collect(graph_module, example_inputs):
        seen.append((type(graph_module).__name__, graph_module._needs_recompile()))
        return lambda *inputs: torch.fx.Interpreter(graph_module).run(*inputs)

    minidynamo.optimize(backend=collect)(elementwise)(*make_inputs())
    assert seen == [("GraphModule", True)]


def test_the_graph_is_well_formed(captured):
    module, examples, _, _ = captured
    graph = module.graph
    graph.lint()
    nodes = list(graph.nodes)
    assert len(graph.nodes) == len(nodes) and nodes[-1].op == "output"
    assert [node.op for node in nodes[: len(examples)]] == ["placeholder"] * len(examples)
    assert isinstance(nodes[-1].args[0], tuple)
    for node in nodes:
        assert node.name.isidentifier()
        assert all(node in used.users for used in node.all_input_nodes)
        assert all(node in user.all_input_nodes for user in node.users)
        if node.op in ("call_function", "call_method"):
            assert node in graph.find_nodes(op=node.op, target=node.target)
            assert node.users or "mul_" in node.name or "setitem" in node.name or "add" in node.name


def test_every_way_of_running_it(captured):
    module, examples, expected, _ = captured
    same(torch.fx.Interpreter(module).run(*copy.deepcopy(examples)), expected)
    same(module(*copy.deepcopy(examples)), expected)
    same(module.forward(*copy.deepcopy(examples)), expected)
    module.recompile()
    same(module(*copy.deepcopy(examples)), expected)
    same(torch.fx.Transformer(module).transform()(*copy.deepcopy(examples)), expected)


def test_every_way_of_copying_it(captured):
    module, examples, expected, _ = captured
    duplicates = [
        copy.deepcopy(module),
        copy.copy(module),
        torch.fx.GraphModule(module, module.graph),
        torch.fx.GraphModule({}, copy.deepcopy(module.graph)),
    ]
    # torch.fx unpickles by tracing the source, and its proxies refuse item assignment.
    if not module.graph.find_nodes(op="call_function", target=operator.setitem):
        duplicates.append(pickle.loads(pickle.dumps(module)))
    for duplicate in duplicates:
        duplicate.graph.lint()
        same(duplicate(*copy.deepcopy(examples)), expected)


def test_every_way_of_printing_it(captured):
    module, _, _, _ = captured
    assert "def forward(self" in module.code
    assert "return" in str(module.graph)
    assert "forward" in module.print_readable(print_output=False)
    python_code = module.graph.python_code("self", verbose=True)
    compile(python_code.src, "<printed>", "exec")


def test_passes_of_torch_fx_work(captured):
    module, examples, expected, _ = captured
    propagated = copy.deepcopy(module)
    ShapeProp(propagated).propagate(*copy.deepcopy(examples))
    for node, twin in zip(module.graph.nodes, propagated.graph.nodes, strict=True):
        if isinstance(node.meta.get("example_value"), torch.Tensor):
            ours, theirs = node.meta["tensor_meta"], twin.meta["tensor_meta"]
            assert type(ours) is TensorMetadata
            assert (ours.shape, ours.dtype, ours.stride) == (theirs.shape, theirs.dtype, theirs.stride)
    output = module.graph.output_node()
    with module.graph.inserting_before(output):
        doubled = tuple(module.graph.call_function(torch.add, (node, node)) for node in output.args[0])
    output.args = (doubled,)
    module.graph.lint()
    module.recompile()
    same(module(*copy.deepcopy(examples)), tuple(t + t for t in expected))


def test_dead_code_is_gone_and_so_are_inputs_that_only_it_used():
    module, examples, _ = capture(dead_code, *make_inputs())
    assert len(examples) == 1
    assert [node.op for node in module.graph.nodes if node.op != "placeholder"][1:] == ["output"]


def test_nodes_carry_examples_traces_and_targets():
    module, examples, _ = capture(elementwise, *make_inputs())
    lines, first = inspect.getsourcelines(elementwise)
    for node, example in zip(module.graph.find_nodes(op="placeholder"), examples):
        assert node.target == node.name
        assert node.meta["source"] in ("L['x']", "L['y']")
        assert node.meta["example_value"].shape == example.shape
    for node in module.graph.nodes:
        if node.op in ("placeholder", "output"):
            continue
        assert isinstance(node.meta["example_value"], torch.Tensor)
        assert node.meta["source_fn_stack"][-1][0] == node.name
        trace = node.meta["stack_trace"]
        assert trace.rstrip().endswith(lines[1].strip())
        assert f'File "{__file__}", line {first + 1}, in elementwise' in trace
    assert [node.name for node in module.graph.find_nodes(op="placeholder")] == ["l_x_", "l_y_"]


def test_names_do_not_shadow_builtins():
    module, _, _ = capture(names_of_builtins, *make_inputs())
    names = {node.name for node in module.graph.nodes}
    assert {"abs_1", "sum_1", "max_1", "all_1"} <= names


def test_parameters_are_inputs_with_readable_names():
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU(), torch.nn.Linear(3, 2))
    x = make_inputs()[0]
    module, examples, result = capture(model, x)
    assert len(examples) == 5 and sum(isinstance(example, torch.nn.Parameter) for example in examples) == 4
    names = [node.name for node in module.graph.find_nodes(op="placeholder")]
    assert len(set(names)) == 5 and sum("weight" in name for name in names) == 2
    assert not list(module.parameters())
    torch.testing.assert_close(result, model(x))


@torch.library.custom_op("minidynamo_fx_export::scaled", mutates_args=())
def scaled(x: torch.Tensor, factors: list[float]) -> torch.Tensor:
    return x * sum(factors)


@scaled.register_fake
def _(x, factors):
    return torch.empty_like(x)


def test_custom_operators_are_called_by_name():
    def program(x):
        return scaled(x, [1.0, 2.0]), torch.ops.minidynamo_fx_export.scaled(x, [3.0])

    x = make_inputs()[0]
    module, examples, result = capture(program, x)
    assert "torch.ops.minidynamo_fx_export.scaled" in module.code
    same(pickle.loads(pickle.dumps(module))(*examples), program(x))
    torch.testing.assert_close(result, program(x))


def test_a_user_pass_over_the_graph():
    """The typical work of a user's backend: look at the operators and replace some."""

    def swap_relu(graph_module, example_inputs):
        for node in graph_module.graph.nodes:
            if node.target in (torch.relu, F.relu, "relu"):
                with graph_module.graph.inserting_after(node):
                    swapped = graph_module.graph.call_function(torch.sigmoid, (node.args[0],))
                node.replace_all_uses_with(swapped)
                graph_module.graph.erase_node(node)
        graph_module.recompile()
        return graph_module.forward

    x, y = make_inputs()
    got = minidynamo.optimize(backend=swap_relu)(elementwise)(x, y)
    torch.testing.assert_close(got, torch.sigmoid(x) * 2 + y.sin())
