"""Equal layers are compiled once: what is found, what is refused and why, and that pieces in turn are the graph."""

import contextlib
import copy
import gc
import math
import pathlib
import re
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.utils.checkpoint
from torch import nn
from torch.nn import functional as F

import minidynamo
from minidynamo import _C, _artifacts, config
from minidynamo._capture import conditions
from minidynamo.backends import _inductor

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "bench"))
try:
    import models
except ImportError:  # the demo and test extras install transformers
    models = None  # type: ignore[assignment]


@pytest.fixture
def compiled_pieces(monkeypatch: pytest.MonkeyPatch) -> list[torch.fx.GraphModule]:
    """The modules that Inductor would compile, in its place run as they are."""
    seen: list[torch.fx.GraphModule] = []

    def compile_piece(module: torch.fx.GraphModule, inputs: list[Any], *settings: Any) -> _artifacts.Compiled:
        seen.append(module)
        module.graph.lint()
        for node, given in zip(module.graph.find_nodes(op="placeholder"), inputs, strict=True):
            fake = node.meta["example_value"]
            assert given.dtype == fake.dtype
            if module.meta.get("layouts") is None:
                assert (given.shape, given.stride()) == (fake.shape, fake.stride())
            if torch.is_grad_enabled():
                assert given.requires_grad == fake.requires_grad
        return _artifacts.Compiled(lambda given: module(*given))

    monkeypatch.setattr(_inductor, "compile_with_inductor", compile_piece)
    return seen


def regions_of(function: Any) -> list[str]:
    return [
        str(entry.graph_module.meta["regions"])
        for code in minidynamo.debug.codes_of(function, resumed=True)
        for entry in _C.cache_entries(code)
        if entry.graph_module is not None
    ]


class Block(nn.Module):
    """Eleven calls."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        inner = F.gelu(self.up(self.norm(x)))
        scale, shift = inner.chunk(2, -1)
        return x + self.down(inner * 2 - inner.tanh()) + scale.sigmoid() * shift


class Stack(nn.Module):
    def __init__(self, blocks: list[nn.Module], width: int = 8) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(width, width), nn.Linear(width, 3)
        self.blocks = nn.ModuleList(blocks)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x)
        for block in self.blocks:
            x = block(x)
        return self.last(x)


def stack(count: int = 8) -> Stack:
    return Stack([Block() for _ in range(count)])


@contextlib.contextmanager
def same_random_numbers() -> Iterator[None]:
    with torch.random.fork_rng():
        torch.manual_seed(3)
        yield


def check(model: Callable[..., Any], *args: Any, calls: int = 3) -> list[str]:
    """Compares a model and a captured copy: results, gradients, what was written; says which regions were found."""
    minidynamo.reset()
    twin = copy.deepcopy(model)
    captured = minidynamo.compile(twin, backend="inductor", fullgraph=True, dynamic=False)
    for _ in range(calls):
        with same_random_numbers():
            expected = model(*args)
        with same_random_numbers():
            found = captured(*args)
        torch.testing.assert_close(found, expected)
        if isinstance(expected, torch.Tensor) and expected.requires_grad:
            expected.sum().backward()
            found.sum().backward()
    if isinstance(model, nn.Module):
        for ours, theirs in zip(twin.parameters(), model.parameters(), strict=True):
            torch.testing.assert_close(ours.grad, theirs.grad)
        for ours, theirs in zip(twin.buffers(), model.buffers(), strict=True):
            torch.testing.assert_close(ours, theirs)
    return regions_of(captured)


@pytest.mark.parametrize("grad", [True, False])
def test_equal_layers_are_compiled_once(compiled_pieces: list[torch.fx.GraphModule], grad: bool) -> None:
    with torch.set_grad_enabled(grad):
        (text,) = check(stack(), torch.randn(4, 8))
    assert re.fullmatch(r"[78] x 14 calls; (16|30) of 114 calls are compiled", text)
    assert len(compiled_pieces) == 3


def test_calls_before_a_rotation_are_not_lost(compiled_pieces: list[torch.fx.GraphModule]) -> None:
    model = stack()
    check(model, torch.randn(4, 8))
    assert sum(len(module.graph.find_nodes(op="call_function", target=F.gelu)) for module in compiled_pieces) < 8


def test_layers_that_differ_in_a_constant_are_not_equal(compiled_pieces: list[torch.fx.GraphModule]) -> None:
    class Scaled(Block):
        def __init__(self, by: float) -> None:
            super().__init__()
            self.by = by

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(x) * self.by

    (text,) = check(Stack([Scaled(1.0 + i % 2) for i in range(8)]), torch.randn(4, 8))
    assert re.match("[34] x 30 calls", text)
    (text,) = check(Stack([Scaled(1.0 + i) for i in range(8)]), torch.randn(4, 8))
    assert re.match("8 x 1[1234] calls", text)  # without the scaling


def test_a_parameter_and_a_computed_weight_are_compiled_apart(compiled_pieces: list[torch.fx.GraphModule]) -> None:
    """A compiler may count on a parameter's address."""
    model = stack()
    weights = [[p.detach().clone().requires_grad_() for p in block.parameters()] for block in model.blocks[:4]]

    class Mixed(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for block, given in zip(model.blocks, weights):
                names = [name for name, _ in block.named_parameters()]
                x = torch.func.functional_call(block, dict(zip(names, given)), (x,))
            for block in model.blocks[4:]:
                x = block(x)
            return x

    function = Mixed()
    captured = minidynamo.compile(function, backend="inductor", fullgraph=True, dynamic=False)
    x = torch.randn(4, 8)
    torch.testing.assert_close(captured(x), function(x))
    (text,) = regions_of(captured)
    assert re.match(r"[34] x 14 calls, [34] x 14 calls", text)


def test_a_value_that_is_not_dense_goes_from_piece_to_piece(compiled_pieces: list[torch.fx.GraphModule]) -> None:
    class Halved(Block):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.cat([super().forward(x), x], -1)[:, :8]

    (text,) = check(Stack([Halved() for _ in range(8)]), torch.randn(4, 8))
    assert re.match("[678] x ", text)


def test_dropout_draws_anew_in_each_layer(compiled_pieces: list[torch.fx.GraphModule]) -> None:
    class Dropping(Block):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return F.dropout(super().forward(x), 0.5, self.training)

    (text,) = check(Stack([Dropping() for _ in range(8)]), torch.randn(4, 8))
    assert re.match("[78] x 15 calls", text)


def test_running_statistics_are_written(compiled_pieces: list[torch.fx.GraphModule]) -> None:
    class Normalized(Block):
        def __init__(self) -> None:
            super().__init__()
            self.batch_norm = nn.BatchNorm1d(8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.batch_norm(super().forward(x))

    (text,) = check(Stack([Normalized() for _ in range(8)]), torch.randn(4, 8))
    assert re.match("[78] x 16 calls", text)


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_layers_under_checkpoints(compiled_pieces: list[torch.fx.GraphModule], use_reentrant: bool) -> None:
    class Checkpointed(Block):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            inner = torch.utils.checkpoint.checkpoint(super().forward, x, use_reentrant=use_reentrant)
            return inner.sin().cos().tanh().exp().neg().sigmoid().sin()

    (text,) = check(Stack([Checkpointed() for _ in range(8)]), torch.randn(4, 8))
    assert re.match("[78] x ", text)


def test_one_layer_again_and_again(compiled_pieces: list[torch.fx.GraphModule]) -> None:
    block = Block()
    (text,) = check(Stack([block] * 8), torch.randn(4, 8))
    assert re.match("[78] x 14 calls", text)


# ---- what must not be cut


class AddingToInput(Block):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.add_(self.down(F.gelu(self.up(self.norm(x))).tanh()).sin().cos().exp().neg())


class AddingToRow(Block):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = super().forward(x)
        x[0] += 1
        return y + x.sum()


class AddingToBoth(Block):
    """A view from the layer before is read behind a write to what it shows."""

    def forward(self, pair: Any) -> Any:
        x, row = pair
        x = super().forward(x.add_(1)) + row
        return x, x[0]


def adding_to_both(x: torch.Tensor, blocks: list[AddingToBoth]) -> torch.Tensor:
    pair = x * 1, x[0]
    for block in blocks:
        pair = block(pair)
    return pair[0]


@pytest.mark.parametrize("kind", [AddingToInput, AddingToRow])
def test_a_write_to_what_came_before(compiled_pieces: list[torch.fx.GraphModule], kind: type[Block]) -> None:
    model = Stack([kind() for _ in range(8)])
    with torch.no_grad():
        (text,) = check(model, torch.randn(4, 8))
    assert re.match("[78] x ", text)  # it is an input that is written to
    if kind is AddingToRow:
        with pytest.raises(RuntimeError, match="inplace"):
            model(torch.randn(4, 8)).sum().backward()
        return
    minidynamo.reset()
    captured = minidynamo.compile(model, backend="inductor", fullgraph=True, dynamic=False)
    captured(torch.randn(4, 8))
    assert regions_of(captured)[-1] == "nothing repeats"  # an input with a history


def test_a_view_and_what_it_shows(compiled_pieces: list[torch.fx.GraphModule]) -> None:
    blocks = [AddingToBoth() for _ in range(8)]
    with torch.no_grad():
        (text,) = check(adding_to_both, torch.randn(4, 8), blocks)
    assert re.match("[78] x ", text)
    for module in compiled_pieces:  # the view is made again, so that no piece has it and its base
        sources = [node.meta["example_value"].untyped_storage()._cdata for node in module.graph.find_nodes(op="placeholder")]
        assert len(set(sources)) == len(sources)


def test_a_write_within_a_layer(compiled_pieces: list[torch.fx.GraphModule]) -> None:
    class Adding(Block):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = super().forward(x)
            y[0] += 1
            return y * 2

    for grad in (True, False):
        with torch.set_grad_enabled(grad):
            (text,) = check(Stack([Adding() for _ in range(8)]), torch.randn(4, 8))
        assert re.match("[78] x ", text)


def test_a_view_without_history_is_not_made_again(compiled_pieces: list[torch.fx.GraphModule]) -> None:
    class Transposed(Block):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            with torch.no_grad():
                weight = self.down.weight.t()
            x = super().forward(x)
            for _ in range(3):
                x = x.sin().cos().tanh()
            return x + (x @ self.up.weight.t() @ weight)

    (text,) = check(Stack([Transposed() for _ in range(8)]), torch.randn(4, 8))
    assert " x " in text

    def across(x: torch.Tensor, blocks: list[Block]) -> torch.Tensor:
        with torch.no_grad():
            weights = [block.up.weight.t() for block in blocks]
        for block, weight in zip(blocks, weights):
            x = block(x) + (x @ weight).sum(-1, keepdim=True)
        return x

    minidynamo.reset()
    blocks = [Block() for _ in range(8)]
    captured = minidynamo.compile(across, backend="inductor", fullgraph=True, dynamic=False)
    x = torch.randn(4, 8)
    weights = [block.up.weight for block in blocks]
    found = torch.autograd.grad(captured(x, blocks).sum(), weights)
    torch.testing.assert_close(found, torch.autograd.grad(across(x, blocks).sum(), weights))
    assert "x 17 calls" in regions_of(captured)[0]


@pytest.mark.parametrize("kind", ["t_", "unsqueeze_", "out"])
def test_a_layout_that_changes(compiled_pieces: list[torch.fx.GraphModule], kind: str) -> None:
    class Changing(Block):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = super().forward(x)
            if kind == "t_":
                return y.t_().contiguous().t()
            if kind == "unsqueeze_":
                return y.unsqueeze_(0).squeeze(0)
            return torch.add(y, 1, out=torch.empty_like(y))

    with torch.no_grad():
        (text,) = check(Stack([Changing() for _ in range(8)]), torch.randn(4, 8))
    assert text.startswith("it calls ")


def test_inputs_that_share_memory_that_is_written(compiled_pieces: list[torch.fx.GraphModule]) -> None:
    model = stack()
    memory = torch.zeros(16)
    one, other = memory[:8], memory[4:12]

    def function(x: torch.Tensor) -> torch.Tensor:
        one.add_(1)
        return model(x + other)

    captured = minidynamo.compile(function, backend="inductor", fullgraph=True, dynamic=False)
    x = torch.randn(4, 8)
    before = memory.clone()
    with torch.no_grad():
        expected = function(x)
        after = memory.clone()
        memory.copy_(before)
        torch.testing.assert_close(captured(x), expected)
    torch.testing.assert_close(memory, after)
    assert regions_of(captured) == ["inputs share memory that is written to"]


def test_a_mode_over_several_layers(compiled_pieces: list[torch.fx.GraphModule]) -> None:
    model = stack()

    class Partly(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = model

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            with torch.no_grad():
                for block in self.inner.blocks[:2]:
                    x = block(x)
            for block in self.inner.blocks[2:]:
                x = block(x)
            return x

    (text,) = check(Partly(), torch.randn(4, 8))
    assert re.match("[45] x 14 calls", text)


def test_a_mode_within_each_layer(compiled_pieces: list[torch.fx.GraphModule]) -> None:
    class Cast(Block):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            with torch.autocast("cpu", torch.bfloat16):
                scale = self.up(x)
            with torch.no_grad():
                shift = x.mean()
            return super().forward(x) * scale.float().mean() + shift

    (text,) = check(Stack([Cast() for _ in range(8)]), torch.randn(4, 8))
    assert re.match("[78] x ", text)


def test_a_tuple_between_layers(compiled_pieces: list[torch.fx.GraphModule]) -> None:
    def function(x: torch.Tensor) -> Any:
        for _ in range(12):
            first, second = torch.sort(x.sin().cos().tanh(), -1)
            x = first.exp().sin().neg() + second
        return x

    (text,) = check(function, torch.randn(4, 8))
    assert re.match("1[12] x 10 calls", text)
    for module in compiled_pieces:
        (results,) = module.graph.output_node().args
        assert all(isinstance(node.meta["example_value"], torch.Tensor) for node in results)


def test_small_graphs_and_other_modes(compiled_pieces: list[torch.fx.GraphModule]) -> None:
    x = torch.randn(4, 8)
    with torch.no_grad():
        assert check(stack(3), x) == ["the graph is small"]
        for settings in ({"mode": "max-autotune"}, {"options": {"max_autotune": True}}):
            minidynamo.reset()
            whole = minidynamo.compile(stack(), backend="inductor", **settings)  # type: ignore[arg-type]
            whole(x)
            assert all(e.graph_module is None or "regions" not in e.graph_module.meta for e in minidynamo.debug.cache_entries(whole))
        minidynamo.reset()
        with config.patch(regions=False):
            whole = minidynamo.compile(stack(), backend="inductor")
            whole(x)
        assert all("regions" not in e.graph_module.meta for e in minidynamo.debug.cache_entries(whole))


# ---- what the program marks


@torch.compiler.nested_compile_region
def turned(x: torch.Tensor, weight: torch.Tensor, factor: float = 1.0) -> torch.Tensor:
    return (x @ weight).sin() * factor + x


@torch.compiler.nested_compile_region
def turned_twice(x: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return turned(turned(x, a), b)


def two_calls(x: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return turned(turned(x.cos(), a).abs(), b) * 2


def two_calls_that_differ(x: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return turned(turned(x.cos(), a).abs(), b, factor=3.0) * 2


def calls_within_calls(x: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return turned_twice(turned_twice(x.cos(), a, b).abs(), b, a) * 2


def an_error_within(x: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    with contextlib.suppress(TypeError):
        turned(x)  # type: ignore[call-arg]
    return turned(turned(x.cos(), a).abs().exp().abs(), b) * 2


@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize(
    ("program", "found", "pieces"),
    [
        (two_calls, "2 x 4 calls; 7 of 11 calls are compiled", 4),
        (two_calls_that_differ, "nothing repeats", 1),
        (calls_within_calls, "2 x 8 calls; 11 of 19 calls are compiled", 4),
        (an_error_within, "2 x 4 calls; 9 of 13 calls are compiled", 4),
    ],
)
def test_a_marked_function_is_compiled_once(
    compiled_pieces: list[torch.fx.GraphModule], program: Callable[..., Any], found: str, pieces: int, grad: bool
) -> None:
    """Two calls are enough, of a few operations in a small graph."""
    inputs = [torch.randn(4, 4, requires_grad=grad) for _ in range(3)]
    assert check(program, *inputs) == [found]
    assert len(compiled_pieces) == pieces


# ---- dynamic sizes


class Attention(nn.Module):
    """Twelve calls, some with sizes as arguments."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.norm, self.all, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = (y.view(batch, length, 2, -1).transpose(1, 2) for y in self.all(self.norm(x)).split(width, -1))
        found = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.out(found.transpose(1, 2).reshape(batch, length, width)) / length


def dynamic_sizes(model: Callable[..., Any], shapes: list[tuple[int, ...]]) -> tuple[list[str], int]:
    """Compares calls with several sizes, and their gradients; says which regions were found, and how many captures were made."""
    minidynamo.reset()
    captured = minidynamo.compile(model, backend="inductor", fullgraph=True, dynamic=True)
    for shape in shapes:
        x = torch.randn(shape, requires_grad=True)
        expected, found = model(x), captured(x)
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
        if expected.requires_grad:
            (wanted,), (gradient,) = (torch.autograd.grad(y.square().sum(), x) for y in (expected, found))
            torch.testing.assert_close(gradient, wanted, atol=1e-5, rtol=1e-5)
    texts = regions_of(captured)
    return texts, len(texts)


@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize("block", [Block, Attention])
def test_layers_with_dynamic_sizes_are_compiled_once(block: type[nn.Module], grad: bool) -> None:
    model = Stack([block() for _ in range(8)])
    with torch.set_grad_enabled(grad):
        texts, captures = dynamic_sizes(model, [(2, 5, 8), (3, 7, 8), (4, 4, 8), (5, 2, 8)])
    assert captures == 1 and re.match(r"[78] x \d+ calls", texts[0]), texts


def test_dynamic_ints_go_to_the_pieces_that_need_them() -> None:
    blocks = nn.ModuleList([Block() for _ in range(8)])

    def scaled(x: torch.Tensor, n: int) -> torch.Tensor:
        for block in blocks:
            x = block(x) * n / (n + math.sqrt(x.shape[0]))
        return x

    minidynamo.reset()
    captured = minidynamo.compile(scaled, backend="inductor", fullgraph=True, dynamic=True)
    for rows, n in ((4, 3), (6, 5), (9, 2)):
        x = torch.randn(rows, 8, requires_grad=True)
        expected, found = scaled(x, n), captured(x, n)
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(torch.autograd.grad(found.sum(), x), torch.autograd.grad(expected.sum(), x), atol=1e-5, rtol=1e-5)
    (text,) = regions_of(captured)
    assert re.match(r"[78] x \d+ calls", text)


def test_pieces_with_dynamic_sizes_are_loaded_for_other_sizes(tmp_path: pathlib.Path) -> None:
    model = Stack([Attention() for _ in range(8)])
    with config.patch(artifact_folder=str(tmp_path), artifacts=True):
        before = _artifacts.counts()
        dynamic_sizes(model, [(2, 5, 8)])
        written = _artifacts.counts()["written"] - before["written"]
        dynamic_sizes(model, [(3, 7, 8), (6, 4, 8)])
        assert written == 3 and _artifacts.counts()["loaded"] - before["loaded"] == 3
        assert _artifacts.counts()["written"] - before["written"] == 3


def test_a_condition_of_a_piece_is_one_on_the_inputs_of_the_graph() -> None:
    class Halved(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(8, 8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            first, second = torch.chunk(self.linear(x).tanh(), 2)
            joined = torch.cat([first.sin(), second.cos()]) if first.shape == second.shape else x
            return (joined.relu() + x * joined.mean()).tanh()

    model = Stack([Halved() for _ in range(10)])
    texts, captures = dynamic_sizes(model, [(6, 8), (4, 8), (8, 8)])
    assert captures == 1 and re.match(r"(9|10) x \d+ calls", texts[0]), texts
    _, captures = dynamic_sizes(model, [(6, 8), (5, 8), (7, 8)])
    assert captures == 2


def test_sizes_that_the_run_alone_knows_are_in_no_piece(compiled_pieces: list[torch.fx.GraphModule]) -> None:
    blocks = [Block() for _ in range(8)]

    def selected(x: torch.Tensor) -> torch.Tensor:
        x = x[x[:, 0] > 0]
        for block in blocks:
            x = block(x)
        return x

    with torch.no_grad(), config.patch(capture_dynamic_output_shape_ops=True):
        assert check(selected, torch.randn(9, 8)) == ["a size is known to the run of the graph alone"]


def test_the_sizes_of_a_piece_are_told_by_those_of_the_graph(compiled_pieces: list[torch.fx.GraphModule]) -> None:
    model = Stack([Attention() for _ in range(8)])
    with torch.no_grad():
        captured = minidynamo.compile(model, backend="inductor", fullgraph=True, dynamic=True)
        x = torch.randn(2, 5, 8)
        torch.testing.assert_close(captured(x), model(x))
    batch, length = ("size", 0, 0), ("size", 0, 1)
    seen = 0
    for module in compiled_pieces:
        for node, dynamic, layout in zip(
            module.graph.find_nodes(op="placeholder"), module.meta["open_sizes"], module.meta["layouts"], strict=True
        ):
            assert (layout is None) == (not dynamic), node
            if layout is not None and node.meta["example_value"].dim() == 3:
                assert dynamic[:2] == (0, 1) and layout[0][:2] == (batch, length)
                assert conditions.layout_of(layout, [x]) == ((2, 5, 8), (40, 8, 1))
                seen += 1
    assert seen >= 3


def test_explain_and_log_say_what_was_found(caplog: pytest.LogCaptureFixture, compiled_pieces: list[torch.fx.GraphModule]) -> None:
    report = minidynamo.explain(stack())(torch.randn(4, 8))
    assert re.match("[78] x 14 calls", report.regions[0]) and f"regions for Inductor: {report.regions[0]}" in str(report)
    assert report.to_dict()["graphs"][0]["regions"] == report.regions[0]
    with config.patch(logs="regions"), torch.no_grad():
        minidynamo.compile(stack(), backend="inductor", dynamic=False)(torch.randn(4, 8))
    assert any("x 14 calls" in record.getMessage() for record in caplog.records)


# ---- the callable that runs the steps


def test_values_are_let_go_of_after_their_last_use() -> None:
    alive: list[weakref.ref[Any]] = []

    def make(inputs: list[Any]) -> tuple[Any, ...]:
        made = torch.randn(3)
        alive.append(weakref.ref(made))
        return (made,)

    def use(inputs: list[Any]) -> list[Any]:
        result = inputs.pop().sum()
        assert alive[0]() is None
        return [result]

    function = _C.piecewise_callable(((make, (0,), (1,)), (use, (1,), (2,))), (2, 0), 1)
    x = torch.ones(2)
    result, same = function(x)
    assert same is x and result.shape == () and alive[0]() is None


def test_errors_of_the_steps() -> None:
    def fails(inputs: list[Any]) -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        _C.piecewise_callable(((fails, (0,), (1,)),), (1,), 1)(1)
    with pytest.raises(TypeError, match="1 results"):
        _C.piecewise_callable(((lambda inputs: (), (0,), (1,)),), (1,), 1)(1)
    with pytest.raises(TypeError, match="called with 2"):
        _C.piecewise_callable((), (0,), 1)(1, 2)
    with pytest.raises(ValueError, match="before it is filled"):
        _C.piecewise_callable(((fails, (3,), (1,)),), (1,), 1)
    with pytest.raises(TypeError):
        _C.piecewise_callable((1,), (0,), 1)  # type: ignore[arg-type]


# ---- with Inductor


@pytest.mark.parametrize("grad", [True, False])
def test_inductor_compiles_the_pieces(grad: bool) -> None:
    with torch.set_grad_enabled(grad):
        (text,) = check(stack(), torch.randn(4, 8))
    assert re.match("[78] x 14 calls", text)


def test_a_whole_training_step() -> None:
    model = stack()
    twin = copy.deepcopy(model)

    def step(model: nn.Module, optimizer: torch.optim.Optimizer, x: torch.Tensor) -> torch.Tensor:
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    x = torch.randn(4, 8)
    optimizers = [torch.optim.SGD(m.parameters(), lr=0.1) for m in (model, twin)]
    captured = minidynamo.compile(step, backend="inductor", fullgraph=True, dynamic=False)
    for _ in range(3):
        expected, found = step(model, optimizers[0], x), captured(twin, optimizers[1], x)
        torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)
    for ours, theirs in zip(twin.parameters(), model.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=1e-4)
    assert any("x " in text for text in regions_of(captured))


class Trained:
    """A captured stack, whose pieces are native nodes of autograd's graph after one step."""

    def __init__(self) -> None:
        self.model = stack()
        self.captured = minidynamo.compile(self.model, backend="inductor", fullgraph=True, dynamic=False)
        self.x = torch.randn(4, 8, requires_grad=True)
        self.captured(self.x).sum().backward()

    def loss(self) -> torch.Tensor:
        return self.captured(self.x).square().sum()


@pytest.fixture(scope="module")
def trained() -> Trained:
    return Trained()


def test_a_node_can_be_passed_once(trained: Trained) -> None:
    loss = trained.loss()
    assert "CompiledFunctionBackward" in {type(node).__name__ for node in nodes_of(loss)}
    loss.backward()
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()
    loss = trained.loss()
    (first,) = torch.autograd.grad(loss, trained.x, retain_graph=True)
    (second,) = torch.autograd.grad(loss, trained.x)
    torch.testing.assert_close(first, second)


def nodes_of(tensor: torch.Tensor) -> set[Any]:
    found: set[Any] = set()
    open_nodes = [tensor.grad_fn]
    while open_nodes:
        node = open_nodes.pop()
        if node is not None and node not in found:
            found.add(node)
            open_nodes += [following for following, _ in node.next_functions]
    return found


def test_a_gradient_of_the_gradient_is_refused(trained: Trained) -> None:
    (gradient,) = torch.autograd.grad(trained.loss(), trained.x, create_graph=True)
    with pytest.raises(RuntimeError, match="double backward"):
        gradient.sum().backward()


def test_what_was_saved_is_checked(trained: Trained) -> None:
    loss = trained.loss()
    with torch.no_grad():
        trained.model.last.weight.add_(0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_hooks_on_saved_tensors(trained: Trained) -> None:
    expected = torch.autograd.grad(trained.loss(), trained.x)
    packed: list[Any] = []

    def pack(tensor: torch.Tensor) -> Any:
        packed.append(tensor)
        return len(packed) - 1

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda place: packed[place]):
        loss = trained.loss()
    torch.testing.assert_close(torch.autograd.grad(loss, trained.x), expected)
    assert packed


def test_only_some_gradients(trained: Trained) -> None:
    weight = trained.model.blocks[5].up.weight  # type: ignore[union-attr]
    eager = torch.autograd.grad(trained.model(trained.x).square().sum(), weight)
    torch.testing.assert_close(torch.autograd.grad(trained.loss(), weight), eager, atol=1e-4, rtol=1e-4)


def test_deterministic_algorithms_asked_for_later(trained: Trained) -> None:
    loss = trained.loss()
    torch.use_deterministic_algorithms(True)
    try:
        with pytest.raises(RuntimeError, match="use_deterministic_algorithms"):
            loss.backward()
    finally:
        torch.use_deterministic_algorithms(False)


def test_threads_share_the_pieces(trained: Trained) -> None:
    expected = torch.autograd.grad(trained.loss(), trained.x)
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(20):
                torch.testing.assert_close(torch.autograd.grad(trained.loss(), trained.x), expected)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_nothing_is_kept_alive(trained: Trained) -> None:
    loss = trained.loss()
    node = weakref.ref(loss)
    del loss
    gc.collect()
    assert node() is None
    model = stack()
    captured = minidynamo.compile(model, backend="inductor", fullgraph=True, dynamic=False)
    captured(trained.x).sum().backward()
    gone = weakref.ref(model.last.weight)
    minidynamo.reset()
    del model, captured
    gc.collect()
    assert gone() is None


# ---- models


@pytest.mark.parametrize("train", [False, True], ids=["evaluation", "training"])
@pytest.mark.parametrize("name", sorted(models.MODELS) if models is not None else [])
def test_a_model_in_pieces_is_the_model(compiled_pieces: list[torch.fx.GraphModule], name: str, train: bool) -> None:
    case = models.build(name)
    case.module.train(train)
    twin = copy.deepcopy(case.module)
    minidynamo.reset()
    captured = minidynamo.compile(twin, backend="inductor", fullgraph=True, dynamic=False)
    labels = case.labels() if train else {}
    with torch.set_grad_enabled(train):
        for _ in range(2):
            with same_random_numbers():
                expected = case.module(**case.inputs(), **labels)
            with same_random_numbers():
                found = captured(**case.inputs(), **labels)
            for key in expected:
                if isinstance(expected[key], torch.Tensor):
                    torch.testing.assert_close(found[key], expected[key], rtol=0, atol=0)
            if train:
                expected.loss.backward()
                found.loss.backward()
    for ours, theirs in zip(twin.parameters(), case.module.parameters(), strict=True):
        torch.testing.assert_close(ours.grad, theirs.grad, rtol=0, atol=0)
    texts = regions_of(captured)
    assert all(" x " in text for text in texts)
    assert len(compiled_pieces) > len(texts) or any(text.startswith("too little") for text in texts)
