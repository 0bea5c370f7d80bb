"""The symbolic sizes of each node of a graph are those that torch's own ShapeEnv finds for it: a second way to the same numbers.

A graph that was captured with open sizes is run once more under a FakeTensorMode with a ShapeEnv; sizes and strides of both are then
computed for other sizes of the inputs, such as neither of the two has ruled out.
"""

import random
import re

import pytest
import torch
import torch.nn.functional as F
from test_dynamic_shapes import ARITHMETIC, OPERATORS

import minidynamo
from minidynamo._capture.tracing_context import tracing_context

TRIES = 60


def value_of(number, values):
    """The value of a number as _tracing_context has it."""
    if isinstance(number, int):
        return number
    if number[0] in ("size", "int"):
        return values[number]
    left, right = (value_of(part, values) for part in number[1:])
    operators = {"+": int.__add__, "*": int.__mul__, "//": int.__floordiv__, "%": int.__mod__, "min": min, "max": max}
    return operators[number[0]](left, right)


def holds(condition, values):
    relation, left, right = condition
    left, right = value_of(left, values), value_of(right, values)
    return {"==": left == right, "!=": left != right, "<": left < right, "<=": left <= right}[relation]


class Comparison:
    """A backend that notes sizes of nodes by both ways."""

    def __init__(self):
        self.nodes = []  # name, sizes and strides by text and by ShapeEnv
        self.symbols = {}
        self.conditions = []
        self.own = {}  # sizes of the call

    def __call__(self, graph_module, inputs):
        with tracing_context(inputs, graph_module) as context:
            fakes = context.fakes()
            outer = self

            class Compared(torch.fx.Interpreter):
                def run_node(self, node):
                    result = super().run_node(node)
                    own = node.meta.get("example_value")
                    if isinstance(result, torch.Tensor) and isinstance(own, torch.Tensor):
                        assert own.dim() == result.dim(), node
                        outer.nodes.append((str(node), [str(size) for size in own.shape], list(result.shape)))
                        outer.nodes.append((f"strides of {node}", [str(size) for size in own.stride()], list(result.stride())))
                    return result

            assert context.fake_mode is not None
            with context.fake_mode:
                Compared(graph_module).run(*fakes)
            self.symbols = dict(context._symbols)
            self.own = {where: inputs[where[1]].shape[where[2]] for where in self.symbols.values()}
            self.conditions = context.conditions()
        return graph_module.forward

    def differences(self, rng, guards):
        tries = [{where: rng.randint(2, rng.choice((4, 9, 30))) for where in self.symbols.values()} for _ in range(TRIES)]
        for values in [self.own, *tries]:
            names = {f"L['x'].size({where[2]})": value for where, value in values.items()}
            if not all(holds(condition, values) for condition in self.conditions):
                continue
            if not all(evaluated(guard, names) for guard in guards):
                continue
            for name, own, theirs in self.nodes:
                mine = [evaluated(text, names) for text in own]
                other = [
                    int(size.node.expr.xreplace({symbol: values[where] for symbol, where in self.symbols.items()}))
                    if isinstance(size, torch.SymInt)
                    else size
                    for size in theirs
                ]
                if name.startswith("strides") and 0 in other:
                    continue
                yield (name, names, mine, other) if mine != other else None


def evaluated(text, names):
    for name, value in names.items():
        text = text.replace(name, f"({value})")
    return eval(text, {"min": min, "max": max})


def compare(f, x):
    backend = Comparison()
    optimized = minidynamo.optimize(backend, dynamic=True)(f)
    optimized(x)
    guards = []
    for entry in minidynamo.debug.cache_entries(optimized):
        for guard in entry.guards:
            text = guard.split("  #")[0]
            if re.match(r"^[\d\s()*+\-/%<>=!]*L\['x'\]\.size", text) and ".dtype" not in text:
                guards.append(text)
    if not backend.symbols:
        return 0
    found = [difference for difference in backend.differences(random.Random(0), guards) if difference]
    assert not found, found[:3]
    return len(backend.nodes)


@pytest.mark.parametrize("name", OPERATORS)
def test_operator(name):
    compare(OPERATORS[name], torch.randn(6, 10))


SIZES_IN_GRAPH = ["unpack", "sum of sizes", "divmod", "min and max", "product of shape", "comprehension", "negative floor division"]


@pytest.mark.parametrize("name", SIZES_IN_GRAPH)
def test_arithmetic(name):
    compare(ARITHMETIC[name], torch.randn(6, 12))


def test_block_of_a_transformer():
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True).train()

    def f(x):
        return layer(x)

    assert compare(f, torch.randn(5, 7, 16)) > 20


def test_convolutions():
    convolution = torch.nn.Conv2d(3, 4, 3, stride=2, padding=1)
    net = torch.nn.Sequential(convolution, torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.MaxPool2d(2))

    def f(x):
        return F.adaptive_avg_pool2d(net(x), 1).flatten(1)

    assert compare(f, torch.randn(5, 3, 22, 18)) > 5


def test_a_difference_is_seen():
    backend = Comparison()
    minidynamo.optimize(backend, dynamic=True)(lambda x: x.view(-1))(torch.randn(6, 10))
    name, own, theirs = backend.nodes[2]
    backend.nodes[2] = (name, [f"{own[0]} + L['x'].size(0) - 6"], theirs)
    assert any(backend.differences(random.Random(0), []))
